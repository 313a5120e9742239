import { dirname, join } from "node:path";
import { fileKey, type Disk, type DiskStat } from "../core/disk.ts";
import { systemErrorCode, TouchstonedError } from "../core/errors.ts";
import { decodeQueueFile, MAX_QUEUE_FILE_BYTES } from "../queue/resident.ts";
import type { Trust } from "./ports.ts";
import { refusal, refusalFrom, type Refusal } from "./refusal.ts";
import type { RipeFile } from "./scan.ts";
import { SUBMIT_TEMPORARY } from "./submit.ts";

export type FileReading =
  | { kind: "read"; bytes: Buffer }
  /** It is not the file that was found at rest. */
  | { kind: "changed" }
  | { kind: "refused"; refusal: Refusal };

const KINDS: Record<Exclude<DiskStat["kind"], "file" | "directory">, string> = {
  symlink: "a symbolic link",
  fifo: "a FIFO",
  socket: "a socket",
  device: "a device",
};

/** `submit` makes a name with link and unlink; a crash between the two leaves its other name. */
function dropSubmitLeftover(disk: Disk, path: string, stat: DiskStat): boolean {
  const inbox = dirname(path);
  for (const name of disk.readdir(inbox)) {
    if (!SUBMIT_TEMPORARY.test(name)) continue;
    const other = disk.lstat(join(inbox, name));
    if (other?.dev !== stat.dev || other.ino !== stat.ino) continue;
    disk.unlink(join(inbox, name));
    disk.syncDir(inbox);
    return true;
  }
  return false;
}

/** What is wrong with the file from outside; null where it may be opened. */
function outsideFault(path: string, stat: DiskStat, trust: Trust): Refusal | null {
  if (stat.kind === "directory") return refusal("not_a_file", "it is a directory", "Move it away.");
  if (stat.kind !== "file") {
    const hint = "Copy the queue file itself into the inbox.";
    return refusal("not_a_file", `it is ${KINDS[stat.kind]}`, hint);
  }
  if (stat.nlink > 1) {
    return refusal(
      "hard_linked",
      `it has ${stat.nlink} names (hard links), so it can be changed from elsewhere`,
      "Copy it into the inbox instead of linking it.",
    );
  }
  const fault = trust.file(path, stat);
  if (fault !== null) {
    return refusal("bad_mode", fault, "Run that.");
  }
  if ((stat.mode & 0o400) === 0) {
    return refusal("unreadable", "its owner may not read it", "Run chmod u+r on it.");
  }
  if (stat.size === 0) {
    return refusal("empty", "the file is empty", "Write the queue into it and drop it again.");
  }
  if (stat.size > MAX_QUEUE_FILE_BYTES) {
    return refusal(
      "too_big",
      `it has ${stat.size} bytes, more than ${MAX_QUEUE_FILE_BYTES} (256 KiB)`,
      "Split it into several files.",
    );
  }
  return null;
}

/** Characters that no editor shows and no queue file needs. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/;

function textFault(bytes: Buffer, name: string): Refusal | null {
  let text: string;
  try {
    text = decodeQueueFile(bytes, name);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return refusalFrom(error, name, name);
  }
  const at = text.search(CONTROL);
  if (at < 0) return null;
  const lines = text.slice(0, at).split("\n");
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, "0");
  const found = refusal(
    "control_character",
    `${name}:${lines.length}: there is a control character (U+${code})`,
    "Take it away; tabs and line ends are the only ones that a queue file may hold.",
  );
  return { ...found, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/**
 * Reads a file at rest, once, and proves that it is the one that was looked at and did not change
 * while it was read. Throws what is no fault of the file (EIO, EMFILE ...).
 */
export function readRipe(disk: Disk, file: RipeFile, trust: Trust): FileReading {
  const now = disk.lstat(file.path);
  if (now === undefined || fileKey(now) !== file.key) return { kind: "changed" };
  if (now.kind === "file" && now.nlink > 1 && dropSubmitLeftover(disk, file.path, now)) {
    return { kind: "changed" };
  }
  const fault = outsideFault(file.path, now, trust);
  if (fault !== null) return { kind: "refused", refusal: fault };
  let read;
  try {
    read = disk.read(file.path, MAX_QUEUE_FILE_BYTES);
  } catch (error) {
    // Something else has the name since the look: it is looked at again.
    if (["ENOENT", "ELOOP", "ENXIO"].includes(systemErrorCode(error) ?? ""))
      return { kind: "changed" };
    throw error;
  }
  if (fileKey(read.before) !== file.key || fileKey(read.after) !== file.key)
    return { kind: "changed" };
  if (read.bytes.length !== now.size) return { kind: "changed" };
  const bad = textFault(read.bytes, file.name);
  return bad === null ? { kind: "read", bytes: read.bytes } : { kind: "refused", refusal: bad };
}
