import { rejectFile } from "./placing.ts";
import type { IntakeWorld } from "./ports.ts";
import { refusal, type Refusal } from "./refusal.ts";
import type { RipeFile } from "./scan.ts";

export type TakeUpOutcome =
  | { kind: "accepted"; submission_id: string; jobs: number; warnings: string[] }
  /** The submission of this very file is open; the file was touched, no more. */
  | { kind: "already"; submission_id: string }
  | { kind: "rejected"; refusal: Refusal; path: string; duplicate_of: string | null }
  /** It is not what was looked at any more, or did not live through its first parsing. */
  | { kind: "waits"; why: string }
  /** This machine's trouble and not the file's: nothing has happened to the file. */
  | { kind: "trouble"; message: string }
  | { kind: "stopped" };

export function reject(
  world: IntakeWorld,
  file: RipeFile,
  why: Refusal,
  sha256: string | null = null,
  duplicate_of: string | null = null,
): TakeUpOutcome {
  const path = rejectFile(world, file, why, sha256);
  if (path === null) return { kind: "waits", why: "it was changed while it was judged" };
  return { kind: "rejected", refusal: why, path, duplicate_of };
}

export function rejectDuplicate(world: IntakeWorld, file: RipeFile, sha256: string, id: string) {
  const why = refusal(
    "duplicate",
    `${file.name}: the same bytes are being worked on as submission ${id}`,
    "Wait until that one has ended (`touchstoned queue list`), or change what is to differ.",
  );
  return reject(world, file, why, sha256, id);
}

/** The submission that these bytes belong to and whose file is still in the inbox. */
export async function openTwin(world: IntakeWorld, file: RipeFile, sha256: string) {
  const twins = await world.store.submissions({ placed: false, sha256 });
  const same = twins.find((twin) => twin.file_name === file.name);
  if (same !== undefined) return same;
  // An ended one of another name is only not put away yet: these bytes are new work.
  return twins.find((twin) => twin.open_jobs > 0);
}
