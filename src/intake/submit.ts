import { extname, join } from "node:path";
import { unlinkIfThere, type Disk } from "../core/disk.ts";
import { EXIT, inputError, systemErrorCode, TouchstonedError, usageError } from "../core/errors.ts";
import type { UlidSource } from "../core/ids.ts";
import { MAX_QUEUE_FILE_BYTES } from "../queue/resident.ts";
import { judgeName } from "./names.ts";

/** `.NAME.<ULID>.submit`: what `submitFile` writes before the file has its name. */
export const SUBMIT_TEMPORARY = /^\..+\.[0-9A-Z]{26}\.submit$/;

export interface SubmitOptions {
  disk: Disk;
  new_id: UlidSource;
  inbox: string;
  name: string;
  bytes: Uint8Array;
  /** What to do where the name is taken. */
  if_taken: "refuse" | "rename";
}

const MAX_RENAMES = 99;

function freeName(name: string, attempt: number): string {
  if (attempt === 1) return name;
  const suffix = extname(name);
  return `${name.slice(0, name.length - suffix.length)}-${attempt}${suffix}`;
}

/**
 * Drops a whole file into the inbox: under a hidden name first, synced, then with its own name, which
 * never replaces another file. Returns the name that it got. Throws a usage error for a name that the
 * inbox would pass over, an input error (64) for a size that would be rejected or a name that is
 * taken; the system's own errors leave nothing behind that could be taken up.
 */
export function submitFile(options: SubmitOptions): string {
  try {
    return drop(options);
  } catch (error) {
    throw fullDisk(join(options.inbox, options.name), error) ?? error;
  }
}

/** A disk without room, in words; undefined for everything else. */
function fullDisk(path: string, error: unknown): TouchstonedError | undefined {
  const code = systemErrorCode(error);
  if (code !== "ENOSPC" && code !== "EDQUOT") return undefined;
  const what = code === "ENOSPC" ? "the disk is full" : "your share of the disk is used up";
  return new TouchstonedError({
    code: "disk_full",
    exitCode: EXIT.failed,
    message: `${path} cannot be written: ${what} (${code})`,
    hint: "Make room there and submit the file again; nothing of it was taken up.",
    cause: error,
  });
}

function drop(options: SubmitOptions): string {
  const { disk, inbox, name, bytes } = options;
  const verdict = judgeName(name);
  if (verdict.kind !== "candidate") {
    const why = verdict.kind === "odd" ? verdict.why : "the inbox passes over such names";
    throw usageError(`"${name}": ${why}`, "Queue files are called NAME.yaml, .yml or .json.");
  }
  if (bytes.length === 0 || bytes.length > MAX_QUEUE_FILE_BYTES) {
    const what = bytes.length === 0 ? "is empty" : `has ${bytes.length} bytes`;
    throw inputError(`${name} ${what}`, `1 to ${MAX_QUEUE_FILE_BYTES} bytes can be taken up.`);
  }
  const temporary = join(inbox, `.${name.slice(0, 60)}.${options.new_id()}.submit`);
  disk.createSynced(temporary, bytes, 0o600);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const given = freeName(name, attempt);
      try {
        disk.link(temporary, join(inbox, given));
        return given;
      } catch (error) {
        if (systemErrorCode(error) !== "EEXIST") throw error;
        if (options.if_taken === "rename" && attempt < MAX_RENAMES) continue;
        throw inputError(
          `${join(inbox, given)} is there already`,
          "Give another name, or wait until that file was run.",
          "name_taken",
        );
      }
    }
  } finally {
    unlinkIfThere(disk, temporary);
    disk.syncDir(inbox);
  }
}
