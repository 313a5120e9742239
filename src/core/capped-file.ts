import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";

/** The end of an output that is kept whatever its length: the cause of a failure stands there. */
export const TAIL_BYTES = 64 * 1024;
/** Of the longest mark; a number has sixteen digits at most. */
const MARK_BYTES = 64;
const MARK = /^\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n/;

export function readRange(fd: number, from: number, to: number): Buffer {
  const start = Math.max(0, from);
  const bytes = Buffer.alloc(Math.max(0, to - start));
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, start));
}

/**
 * Takes the middle out of an open log that has grown beyond `max_bytes`, and says in its place how
 * many bytes are gone since the log began. Its beginning stays, and its end; others may append to it
 * meanwhile, and what they write in that very moment may be lost. Never throws.
 */
export function trimMiddle(fd: number, max_bytes: number): void {
  try {
    const { size } = fstatSync(fd);
    if (size <= max_bytes) return;
    const head_bytes = Math.floor(max_bytes / 2);
    const tail_bytes = Math.min(TAIL_BYTES, head_bytes);
    // What an earlier call, or an earlier process of ours, has left out.
    const mark = MARK.exec(readRange(fd, head_bytes, head_bytes + MARK_BYTES).toString("latin1"));
    const [before, mark_bytes] = mark === null ? [0, 0] : [Number(mark[1]), mark[0].length];
    const tail = readRange(fd, size - tail_bytes, size);
    ftruncateSync(fd, head_bytes);
    const left_out = before + size - head_bytes - mark_bytes - tail.length;
    writeSync(fd, `\n[... ${left_out} bytes left out ...]\n`);
    writeSync(fd, tail);
  } catch {
    // A full disk costs the log and nothing else.
  }
}

/** The same for a log that somebody else has open for appending. */
export function trimLog(path: string, max_bytes: number): void {
  let fd: number;
  try {
    fd = openSync(path, "a+");
  } catch {
    return; // Removed, or not ours any more.
  }
  try {
    trimMiddle(fd, max_bytes);
  } finally {
    closeSync(fd);
  }
}
