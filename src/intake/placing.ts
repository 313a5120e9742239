import { basename, dirname, join } from "node:path";
import { shellWord } from "../core/shell-word.ts";
import { fileTime, isoTime } from "../core/clock.ts";
import {
  ensureDirSynced,
  fileKey,
  replaceSynced,
  unlinkIfThere,
  type DiskStat,
} from "../core/disk.ts";
import { systemErrorCode } from "../core/errors.ts";
import { prettyJson, sha256Hex } from "../core/json.ts";
import { MAX_QUEUE_FILE_BYTES } from "../queue/resident.ts";
import { detailOf } from "./detail.ts";
import { fitName } from "./names.ts";
import type { IntakeWorld, StoredSubmission } from "./ports.ts";
import type { Refusal } from "./refusal.ts";
import type { RipeFile } from "./scan.ts";

export const REASON_SUFFIX = ".reason.json";

/** Rules that are about the file's mode and not about what is in it. */
const MENDED_IN_PLACE = new Set(["bad_mode", "unreadable"]);

/** What a file keeps when it is renamed. */
function identity({ kind, dev, ino, size, mtime_ns }: DiskStat): string {
  return `${kind}:${dev}:${ino}:${size}:${mtime_ns}`;
}

function folder(world: IntakeWorld, name: "done" | "failed" | "rejected"): string {
  const path = join(world.paths.inbox, name);
  ensureDirSynced(world.disk, path, 0o755);
  return path;
}

/** Moves a name of the inbox, whatever it is, and makes that durable. The target must be free. */
function move(world: IntakeWorld, from: string, to: string): void {
  world.disk.rename(from, to);
  world.disk.syncDir(dirname(to));
  world.disk.syncDir(dirname(from));
}

/** Puts back what was moved by mistake, unless the name was taken meanwhile; then it stays. */
function putBack(world: IntakeWorld, from: string, to: string): void {
  try {
    world.disk.link(from, to);
    world.disk.unlink(from);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
  }
  world.disk.syncDir(dirname(from));
  world.disk.syncDir(dirname(to));
}

/**
 * Moves a refused file to `rejected/`, after the reason: a crash between the two is mended by
 * `mendRejected`. Returns where it is now; null where it is not the file any more that was judged.
 */
export function rejectFile(
  world: IntakeWorld,
  file: RipeFile,
  why: Refusal,
  sha256: string | null,
): string | null {
  const { disk, clock } = world;
  const rejected = folder(world, "rejected");
  const now_ms = clock.now_ms();
  const target = join(rejected, `${fileTime(now_ms)}-${world.new_id()}-${fitName(file.name)}`);
  const reason = {
    schema_version: 1,
    file: file.name,
    rejected_at: isoTime(now_ms),
    rule: why.rule,
    // The file is not where it was when it was judged.
    message: why.message.replaceAll(file.path, target),
    line: why.line,
    column: why.column,
    what_to_do: MENDED_IN_PLACE.has(why.rule)
      ? `${why.what_to_do} Then drop it again: mv ${shellWord(target)} ${shellWord(file.path)}`
      : why.what_to_do,
    sha256,
    identity: identity(file.stat),
  };
  disk.createSynced(target + REASON_SUFFIX, prettyJson(reason), 0o644);
  disk.syncDir(rejected);
  const now = disk.lstat(file.path);
  if (now === undefined || fileKey(now) !== file.key) {
    unlinkIfThere(disk, target + REASON_SUFFIX);
    return null;
  }
  move(world, file.path, target);
  const moved = disk.lstat(target);
  if (moved === undefined || identity(moved) === identity(file.stat)) return target;
  // Somebody put another file there between the look and the move.
  putBack(world, target, file.path);
  unlinkIfThere(disk, target + REASON_SUFFIX);
  return null;
}

/** Ends what a crash left between a reason and its move: moves the file, or drops the reason. */
export function mendRejected(world: IntakeWorld): void {
  const { disk, paths } = world;
  const rejected = join(paths.inbox, "rejected");
  if (disk.lstat(rejected)?.kind !== "directory") return;
  const names = new Set(disk.readdir(rejected));
  for (const name of names) {
    if (!name.endsWith(REASON_SUFFIX)) continue;
    const target = name.slice(0, -REASON_SUFFIX.length);
    if (names.has(target)) continue;
    const file = refusedFile(world, join(rejected, name));
    if (file === null) unlinkIfThere(disk, join(rejected, name));
    else move(world, file, join(rejected, target));
  }
}

/** Path in the inbox of the file that a reason is about; null where it is not there any more. */
function refusedFile(world: IntakeWorld, reason_path: string): string | null {
  const { disk, paths } = world;
  const text = disk.read(reason_path, MAX_QUEUE_FILE_BYTES).bytes.toString("utf8");
  let reason: { file?: unknown; identity?: unknown } | null;
  try {
    reason = JSON.parse(text);
  } catch {
    return null; // torn by the crash
  }
  if (typeof reason?.file !== "string") return null;
  const path = join(paths.inbox, basename(reason.file));
  const stat = disk.lstat(path);
  return stat !== undefined && identity(stat) === reason.identity ? path : null;
}

/** SHA-256 of what is at `path` if it is a regular file of the right size, else null. */
function hashAt(world: IntakeWorld, path: string): string | null {
  try {
    const { before, bytes } = world.disk.read(path, MAX_QUEUE_FILE_BYTES);
    return before.kind === "file" ? sha256Hex(bytes) : null;
  } catch (error) {
    const code = systemErrorCode(error) ?? "";
    if (["ENOENT", "ELOOP", "ENXIO", "EISDIR"].includes(code)) return null;
    throw error;
  }
}

/** A copy of what was taken up, for the record, where the person has taken the file away. */
function copySnapshot(world: IntakeWorld, submission: StoredSubmission, target: string): boolean {
  if (submission.snapshot_path === null) return false;
  try {
    const { bytes } = world.disk.read(submission.snapshot_path, MAX_QUEUE_FILE_BYTES);
    replaceSynced(world.disk, target, bytes, 0o644);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false; // the run was pruned
    throw error;
  }
}

export interface Placed {
  path: string;
  /** `moved`: the file itself; `copied`: it was deleted or edited, so a copy of the snapshot;
   *  `already`: an earlier attempt got so far; `nothing`: there is neither file nor snapshot. */
  how: "moved" | "copied" | "already" | "nothing";
}

/** Moves the inbox file of `submission` to `target` if it is still what was taken up. */
function moveTaken(world: IntakeWorld, submission: StoredSubmission, target: string): boolean {
  const path = join(world.paths.inbox, basename(submission.file_name));
  if (hashAt(world, path) !== submission.sha256) return false;
  move(world, path, target);
  if (hashAt(world, target) === submission.sha256) return true;
  putBack(world, target, path);
  if (world.disk.lstat(target) === undefined) return false;
  // The name in the inbox was taken once more: nothing is overwritten, so the edit keeps a name of
  // its own beside it.
  const { new_id } = world;
  move(world, target, join(world.paths.inbox, `${new_id()}-${fitName(submission.file_name)}`));
  return false;
}

/**
 * Puts the file of an ended submission where it belongs: `done/` if all its jobs are COMPLETE, else
 * `failed/`. May be called again after any crash or error. A file that was edited or replaced since
 * is new work and stays. Null where the submission is unknown or has not ended.
 */
export async function finishSubmission(world: IntakeWorld, id: string): Promise<Placed | null> {
  const { disk, store, clock } = world;
  const submission = await store.submission(id);
  if (submission === undefined || submission.open_jobs > 0) return null;
  const jobs = await store.jobsOf(id);
  const good = jobs.every(({ state }) => state === "COMPLETE");
  const into = folder(world, good ? "done" : "failed");
  const ended_ms = submission.ended_at_ms ?? submission.accepted_at_ms;
  const before = submission.placed_path;
  // The same name at every attempt, so that a later one sees what an earlier one did.
  const name =
    before === null
      ? `${fileTime(ended_ms)}-${id}-${fitName(basename(submission.file_name))}`
      : basename(before);
  const target = join(into, name);
  const how = ((): Placed["how"] => {
    if (disk.lstat(target) !== undefined) return "already";
    // A job that was retried by hand ends a second time, and may end better.
    if (before !== null && before !== target && disk.lstat(before) !== undefined) {
      move(world, before, target);
      return "moved";
    }
    if (detailOf(submission) !== null && moveTaken(world, submission, target)) return "moved";
    return copySnapshot(world, submission, target) ? "copied" : "nothing";
  })();
  if (before !== target) await store.place(id, target, clock.now_ms());
  return { path: target, how };
}
