import { dirname, join } from "node:path";
import type { EvidenceEntry, FlatIdentity } from "./allowed.ts";
import type { OwnStart } from "./own-start.ts";

// Configuration, device and evidence as they were validated last, keyed by size and times of the
// files that they come from. Reading it costs a few looks at files in place of a schema library.

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { lstatSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } =
  process.getBuiltinModule("node:fs");

/**
 * What is compared of a source: `file` and `link` everything about it, `folder` what is in it, `mode`
 * only whose it is and who may write, `text` what stands in it (files of the kernel have no times).
 */
export interface Source {
  path: string;
  how: "file" | "link" | "mode" | "text";
  mark: string;
}

export interface SnapshotRunner {
  name: string;
  kind: string;
  url: string | null;
  declared_slots: number | null;
  /** How it is configured, as far as its evidence depends on it. */
  expected: FlatIdentity;
  /** The model that a measurement would be of, where it starts a server with a file of its own. */
  measured_as: string | null;
  /** What it would be measured on; null where that is the server in production itself, or nothing. */
  own_start: OwnStart | null;
}

export interface AllowedSnapshot {
  schema: "touchstoned/allowed-snapshot/2";
  /** Version of the program that judged it. */
  program: string;
  boot_id: string;
  machine_path: string;
  sources: Source[];
  /** Why the configuration cannot be used. */
  fault: string | null;
  distrust: string | null;
  declared: number | "measured";
  max_age_days: number;
  commits: boolean;
  runners: SnapshotRunner[];
  /** What local_models says, else null. */
  runner: string | null;
  model: string | null;
  /** This device, as evidence of it would say. */
  device: FlatIdentity;
  evidence: EvidenceEntry[];
  /** Digests of model files by their path. */
  files: Record<string, { mark: string; digest: string }>;
}

export function snapshotPath(state_dir: string): string {
  return join(state_dir, "slots", "snapshot.json");
}

/** What tells one state of a source from another; "-" where it is not there. */
export function sourceMark(path: string, how: Source["how"]): string {
  try {
    if (how === "text") {
      return readFileSync(path, "utf8").slice(0, 500);
    }
    const look = how === "file" ? statSync : lstatSync;
    const stat = look(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return "-";
    const whose = `${stat.ino}:${stat.mode}:${stat.uid}:${stat.gid}`;
    return how === "mode" ? whose : `${whose}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  } catch {
    return "-";
  }
}

/** A file that was written just now may be written once more without any of its times moving. */
const SETTLED_NS = 50_000_000n;

/** Whether all sources have been at rest long enough for their marks to be told apart. */
export function settled(sources: readonly Source[], now_ms: number): boolean {
  return sources.every(({ how, mark }) => {
    const changed = how === "file" || how === "link" ? mark.split(":")[6] : undefined;
    return (
      changed === undefined ||
      BigInt(Math.round(now_ms)) * 1_000_000n - BigInt(changed) > SETTLED_NS
    );
  });
}

/** The snapshot at `path`, where it is of this boot and program and no source has changed since. */
export function readSnapshot(
  path: string,
  now: { boot_id: string; machine_path: string; program: string },
): AllowedSnapshot | undefined {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as AllowedSnapshot;
    const fits =
      value.schema === "touchstoned/allowed-snapshot/2" &&
      value.program === now.program &&
      value.boot_id === now.boot_id &&
      value.machine_path === now.machine_path &&
      value.sources.every((source) => sourceMark(source.path, source.how) === source.mark);
    return fits ? value : undefined;
  } catch {
    return undefined; // none yet, or a broken one
  }
}

/** Readers see the old one or the new one. Trouble is told, and the next look is a slow one again. */
export function writeSnapshot(path: string, snapshot: AllowedSnapshot): string | null {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, JSON.stringify(snapshot), { mode: 0o600 });
    renameSync(temporary, path);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
