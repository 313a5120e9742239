import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  fstatSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "./errors.ts";
import { jsonLine, parseJsonLenient } from "./json.ts";

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Makes a directory and its parents; those that are new get `mode`. Level by level and not by
 * Node's own `recursive`, which never returns where the system says ENOENT for a parent that is
 * there (below /proc).
 */
export function ensureDir(path: string, mode = 0o755): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) ensureDir(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it between the look and the call.
    if (!isDirectory(path)) throw error;
  }
}

function writeAll(fd: number, data: string | Uint8Array): void {
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

/** Makes a rename or a new name in `path` survive a loss of power. */
export function syncDir(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function temporarySibling(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
}

function writeTemporary(
  path: string,
  data: string | Uint8Array,
  mode: number,
  synced = true,
): string {
  const temporary = temporarySibling(path);
  const fd = openSync(temporary, "wx", mode);
  try {
    writeAll(fd, data);
    if (synced) fsyncSync(fd);
  } catch (error) {
    closeSync(fd);
    unlinkSync(temporary);
    throw error;
  }
  closeSync(fd);
  return temporary;
}

/**
 * Replaces `path` as a whole: readers see the old text or the new one, also after a crash or when
 * the disk is full. The temporary file is synced before the rename, the directory after it.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, mode = 0o644): void {
  renameOver(writeTemporary(path, data, mode), path);
  syncDir(dirname(path));
}

function renameOver(temporary: string, path: string): void {
  try {
    renameSync(temporary, path);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
}

/**
 * Replaces `path` as a whole for every reader, whoever is killed meanwhile, but does not wait for
 * the disk: after a loss of power it may be empty. For what means nothing after one, such as the
 * number of a process.
 */
export function writeFileUnsynced(path: string, data: string, mode = 0o644): void {
  renameOver(writeTemporary(path, data, mode, false), path);
}

/** Like `writeFileAtomic`, but never over something that is there: throws EEXIST then. */
export function createFileAtomic(path: string, data: string | Uint8Array, mode = 0o644): void {
  const temporary = writeTemporary(path, data, mode);
  try {
    linkSync(temporary, path);
  } finally {
    unlinkSync(temporary);
  }
  syncDir(dirname(path));
}

/** The text of a file, or undefined where there is none. Other trouble is thrown. */
export function readTextIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Reads a JSON-lines file of this program. Blank and unparseable lines are left out: the last line
 * of a file whose writer was killed may be half a line.
 */
export function readJsonLines(path: string): unknown[] {
  const text = readTextIfThere(path) ?? "";
  const rows: unknown[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const row = parseJsonLenient(line);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** An append-only JSON-lines file. Each line is handed to the system whole, in one write. */
export class JsonLinesWriter {
  readonly #fd: number;
  #open = true;
  #size: number;

  constructor(path: string) {
    this.#fd = openSync(path, "a+", 0o644);
    this.#size = fstatSync(this.#fd).size;
    this.#cutHalfLine();
  }

  /** A writer that was killed may have left half a line; what comes next must not be glued to it. */
  #cutHalfLine(): void {
    const step = 1 << 16;
    let end = this.#size;
    while (end > 0) {
      const chunk = Buffer.alloc(Math.min(end, step));
      readSync(this.#fd, chunk, 0, chunk.length, end - chunk.length);
      const newline = chunk.lastIndexOf(0x0a);
      end -= newline < 0 ? chunk.length : chunk.length - newline - 1;
      if (newline >= 0) break;
    }
    if (end !== this.#size) this.#cutTo(end);
  }

  #cutTo(size: number): void {
    ftruncateSync(this.#fd, size);
    this.#size = size;
  }

  /** Appends one line. Where the disk is full half way, the half is taken back before it throws. */
  append(value: unknown): void {
    const bytes = Buffer.from(jsonLine(value), "utf8");
    try {
      writeAll(this.#fd, bytes);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#size += bytes.length;
  }

  #takeBack(): void {
    try {
      this.#cutTo(this.#size);
    } catch {
      // What cannot be cut either is no regular file; the first error is the one that tells.
    }
  }

  /** Makes what was appended survive a loss of power. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#fd);
  }
}
