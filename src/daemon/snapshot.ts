import type { ProcessIdentity } from "../core/process-table.ts";
import type { Phase, Stop } from "./core.ts";
import type { IdleSnapshot } from "./idle/snapshot.ts";
import type { ScheduledView } from "./schedule.ts";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { closeSync, ftruncateSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } =
  process.getBuiltinModule("node:fs");

export interface RunningSnapshot {
  job_id: string;
  submission_id: string;
  /** Place in the queue file, from 0. */
  index: number;
  model_id: string;
  bundle_dir: string;
  /** RFC 3339 */
  since: string;
  step: string | null;
  step_since: string | null;
  progress: { done: number; failed: number; total: number | null } | null;
  /** Seconds that are left of the step, where enough is known. */
  left_s: { low: number; high: number } | null;
}

/** What a daemon says of itself. Written by it alone, read by `status`, which checks no schema. */
export interface DaemonSnapshot {
  schema_version: 1;
  root: string;
  /** Of the program; absent in older ones. */
  version?: string;
  process: ProcessIdentity;
  /** Its name in the store. */
  owner_id: string;
  /** RFC 3339 */
  started: string;
  updated: string;
  phase: Phase;
  stop: Stop;
  /** Runners of machine.yaml: what it could run. */
  runners: string[];
  /** Memory that a model can have here, MB; null (in older ones absent): not known. */
  memory_mb?: number | null;
  lock_path: string;
  /** Who has the model lock, where that is what it waits for. */
  lock_held: string | null;
  /** Why nothing new begins; null where it may. */
  barred: string | null;
  /** When `queue.window` lets jobs start again, RFC 3339; null (in older ones absent): they may now. */
  window_opens?: string | null;
  /** What `schedule:` drops next; absent in older ones. */
  schedule?: readonly ScheduledView[];
  running: RunningSnapshot | null;
  /** What is done in idle hours, or why not; absent in older ones. */
  idle?: IdleSnapshot;
  inbox: {
    path: string;
    min_age_ms: number;
    blocked: string | null;
    stuck?: Record<string, string>;
  };
  /** When it looks again, if nothing wakes it earlier. RFC 3339. */
  next_look: string | null;
  /** The last few, newest last. */
  warnings: { at: string; text: string }[];
}

/** So much of the disk each snapshot has, so that a later one fits in its place. */
const BLOCK_BYTES = 8192;

function writeInPlace(path: string, bytes: Buffer): void {
  const fd = openSync(path, "r+");
  try {
    writeSync(fd, bytes, 0, bytes.length, 0);
    ftruncateSync(fd, bytes.length);
  } finally {
    closeSync(fd);
  }
}

/**
 * Readers see the old text or the new one. Not synced: it is worth nothing after a power cut. On a
 * full disk, which is what a reader wants to know, the new text takes the place of the old one.
 */
export function writeSnapshot(path: string, snapshot: DaemonSnapshot): void {
  const text = Buffer.from(JSON.stringify(snapshot));
  const padding = Math.ceil(text.length / BLOCK_BYTES) * BLOCK_BYTES - text.length;
  const bytes = Buffer.concat([text, Buffer.alloc(padding, " ")]);
  const temporary = `${path}.tmp`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    writeInPlace(path, bytes);
  }
}

/** Undefined where no daemon of this version has written one. */
export function readSnapshot(path: string): DaemonSnapshot | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const known =
      typeof value === "object" && value !== null && Reflect.get(value, "schema_version") === 1;
    return known ? (value as DaemonSnapshot) : undefined;
  } catch {
    return undefined; // none there, or of a crash
  }
}
