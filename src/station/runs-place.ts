import { existsSync } from "node:fs";
import { join } from "node:path";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import { readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { isInside } from "./paths.ts";

/** In the directory of runs, so that the empty mount point of a disk is told from the disk itself. */
const MARKER = ".touchstoned-runs";
/** In the state: which directory was marked. */
const RECORD = "runs-place";

interface Place {
  id: string;
  state_dir: string;
  runs_dir: string;
}

/** Below the state directory there is nothing that could be mounted apart from it. */
function isOwn({ state_dir, runs_dir }: Place): boolean {
  return isInside(state_dir, runs_dir);
}

/** Why the directory of runs is not the one that it was; null where it is, or is new. */
export function runsFault(place: Place): string | null {
  const { state_dir, runs_dir } = place;
  if (isOwn(place) || existsSync(join(runs_dir, MARKER))) return null;
  if (readTextIfThere(join(state_dir, RECORD)) !== runs_dir) return null;
  return (
    `the runs are not at ${runs_dir}: is their disk mounted? ` +
    `(If they are gone for good: mkdir -p '${runs_dir}' && touch '${join(runs_dir, MARKER)}')`
  );
}

/** Marks a directory of runs that has no fault, and remembers it. It is there. */
export function markRuns(place: Place): void {
  const { id, state_dir, runs_dir } = place;
  if (isOwn(place)) return;
  const marker = join(runs_dir, MARKER);
  if (!existsSync(marker)) writeFileAtomic(marker, `${id}\n`);
  const record = join(state_dir, RECORD);
  if (readTextIfThere(record) !== runs_dir) writeFileAtomic(record, runs_dir, 0o600);
}

/** Throws `runs_gone` (69) where new runs would land in another place than the earlier ones. */
export function requireRuns(place: Place): void {
  const fault = runsFault(place);
  if (fault === null) return;
  throw new TouchstonedError({ code: "runs_gone", exitCode: EXIT.unavailable, message: fault });
}
