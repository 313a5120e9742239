import { readdirSync, readFileSync, readlinkSync, statSync, unlinkSync, type Stats } from "node:fs";
import { basename } from "node:path";
import { readTextIfThere, writeFileUnsynced } from "../core/files.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";
import { printable } from "../core/text.ts";
import { isAlive, processIdentity } from "../core/process-table.ts";
import { Said } from "./said.ts";

/** What a holder of ours says about itself beside the lock. For people: it decides nothing. */
export interface LockHolder {
  pid: number;
  start_token: string;
  boot_id: string;
  purpose: string;
  run_id: string | null;
  /** RFC 3339 */
  since: string;
}

/** A living process that has the lock's file open and locked. */
export interface LockProcess {
  pid: number;
  /** Short name of its program. */
  command: string;
}

/** What is known of who holds a lock; null where only the process is seen. */
export interface LockKeeper {
  pid: number;
  purpose: string | null;
  /** RFC 3339 */
  since: string | null;
}

function sidecarPath(lock_path: string): string {
  return `${lock_path}.info`;
}

/** Says beside the lock that we hold it. */
export function writeSidecar(
  lock_path: string,
  holder: Pick<LockHolder, "purpose" | "run_id" | "since">,
): void {
  const identity = processIdentity(process.pid);
  if (identity === undefined) return;
  try {
    writeFileUnsynced(sidecarPath(lock_path), prettyJson({ ...identity, ...holder }), 0o644);
  } catch {
    // Members of a group may lock the file without being allowed to write beside it.
  }
}

function holderFrom(value: unknown): LockHolder | undefined {
  const said = Said.from(value);
  const [pid, run_id] = [said?.count("pid"), said?.textOrNull("run_id")];
  const [start_token, boot_id] = [said?.exact("start_token"), said?.exact("boot_id")];
  const [purpose, since] = [said?.text("purpose"), said?.text("since")];
  if (pid === undefined || run_id === undefined) return undefined;
  if (start_token === undefined || boot_id === undefined) return undefined;
  if (purpose === undefined || since === undefined) return undefined;
  return { pid, start_token, boot_id, purpose, run_id, since };
}

function readSidecar(lock_path: string): LockHolder | undefined {
  try {
    const text = readTextIfThere(sidecarPath(lock_path)) ?? "";
    return holderFrom(parseJsonLenient(text));
  } catch {
    return undefined; // unreadable: then it says nothing
  }
}

/** The sidecar, where the very process that wrote it still lives; a stale one is no holder. */
export function livingHolder(lock_path: string): LockHolder | undefined {
  const holder = readSidecar(lock_path);
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

/** Removes the sidecar where it is ours. Call it while the lock is still held. */
export function removeSidecar(lock_path: string): void {
  if (readSidecar(lock_path)?.pid !== process.pid) return;
  try {
    unlinkSync(sidecarPath(lock_path));
  } catch {
    // What stays names a dead process, and is not believed.
  }
}

/**
 * Who holds a lock, without taking it for a look: by the sidecar, else by the open files of processes.
 * Undefined where nobody is seen to hold it.
 */
export function lockKeeper(lock_path: string): LockKeeper | undefined {
  const holder = livingHolder(lock_path);
  if (holder !== undefined) return holder;
  const file = statSync(lock_path, { throwIfNoEntry: false });
  const [seen] = file === undefined ? [] : lockingProcesses(lock_path, file);
  return seen === undefined ? undefined : { pid: seen.pid, purpose: null, since: null };
}

const ANY_FLOCK = /^lock:.*\bFLOCK\b/m;

function locksFile(pid: number, name: string, file: Stats): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => {
    try {
      if (basename(readlinkSync(`${folder}/${fd}`)) !== name) return false;
      const open = statSync(`${folder}/${fd}`);
      if (open.dev !== file.dev || open.ino !== file.ino) return false;
      return ANY_FLOCK.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"));
    } catch {
      return false; // closed while we looked
    }
  });
}

/**
 * The processes that hold the lock, as far as we may see them: other users' are hidden. Empty on
 * macOS, where only `lsof` could tell.
 */
export function lockingProcesses(lock_path: string, file: Stats): LockProcess[] {
  if (process.platform !== "linux") return [];
  const found: LockProcess[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const pid = Number(entry);
    try {
      if (!locksFile(pid, basename(lock_path), file)) continue;
      const command = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
      found.push({ pid, command: printable(command) }); // a process chooses its own name
    } catch {
      continue; // another user's, or ended while we looked
    }
  }
  return found;
}
