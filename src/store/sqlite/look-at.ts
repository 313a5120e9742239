import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { systemErrorCode } from "../../core/errors.ts";
import { notPermitted } from "./trouble.ts";

type Found = "nothing" | "sqlite" | "other";

const MAGIC = "SQLite format 3\0";
const SMALLEST_PAGE = 512;

/**
 * Asked before SQLite sees the file: its closing of a file that is none of its own removes the
 * `-wal` beside it, which is evidence.
 */
function hasMagic(path: string, size: number): boolean {
  const fd = openSync(path, "r");
  try {
    const head = Buffer.alloc(MAGIC.length);
    readSync(fd, head, 0, head.length, 0);
    return size >= SMALLEST_PAGE && head.toString("latin1") === MAGIC;
  } finally {
    closeSync(fd);
  }
}

/**
 * What is at `path`. Throws `store_no_permission` where it may not be read, or, for `how` "write", not
 * be written.
 */
export function lookAt(path: string, how: "read" | "write" = "write"): Found {
  try {
    const stat = statSync(path);
    accessSync(path, how === "read" ? constants.R_OK : constants.R_OK | constants.W_OK);
    if (!stat.isFile()) return "other";
    if (stat.size === 0) return "nothing";
    return hasMagic(path, stat.size) ? "sqlite" : "other";
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return "nothing";
    if (code === "EACCES" || code === "EPERM" || code === "EROFS") throw notPermitted(path, error);
    throw error;
  }
}
