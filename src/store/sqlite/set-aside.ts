import { lstatSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { fileTime } from "../../core/clock.ts";
import { systemErrorCode } from "../../core/errors.ts";
import { syncDir } from "../../core/files.ts";

/** SQLite's companions of a database file; without the file they mean nothing. */
const COMPANIONS = ["-wal", "-shm"] as const;

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

function freeName(path: string, now_ms: number, label: string): string {
  const base = `${path}.${label}-${fileTime(now_ms)}`;
  let name = base;
  for (let n = 2; isThere(name) || COMPANIONS.some((tail) => isThere(name + tail)); n += 1) {
    name = `${base}-${n}`;
  }
  return name;
}

/**
 * Moves what is at `path`, and its companions, to `<path>.<label>-<utc>`, which is never one that
 * is there. The caller holds the station's lock, so nobody else opens or moves it meanwhile.
 */
export function setAside(
  path: string,
  now_ms: number,
  label: "unreadable" | "replaced" = "unreadable",
): string {
  const name = freeName(path, now_ms, label);
  // Companions first: were we to die in between, a new store would take an old log for its own.
  for (const tail of COMPANIONS) {
    if (isThere(path + tail)) renameSync(path + tail, name + tail);
  }
  renameSync(path, name);
  syncDir(dirname(path));
  return name;
}

/**
 * Companions of a file that is gone: a new file must not take an old log for its own. Where they are
 * now, or null where there are none.
 */
export function setCompanionsAside(path: string, now_ms: number): string | null {
  const left = COMPANIONS.filter((tail) => isThere(path + tail));
  if (left.length === 0) return null;
  const name = freeName(path, now_ms, "orphaned");
  for (const tail of left) renameSync(path + tail, name + tail);
  syncDir(dirname(path));
  return name;
}
