import { randomBytes } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemErrorCode } from "./errors.ts";

/** Evidence has less than a tenth of it, with all that is written beside it. */
const RESERVE_BYTES = 1 << 20;

function reservePath(state_dir: string): string {
  return join(state_dir, "reserve");
}

/** Sees to it that there is a reserve; where the disk has no room for one there is none. */
export function keepReserve(state_dir: string): void {
  const path = reservePath(state_dir);
  if (existsSync(path)) return;
  try {
    // Nothing that a file system could store in less.
    writeFileSync(path, randomBytes(RESERVE_BYTES), { mode: 0o600 });
  } catch {
    rmSync(path, { force: true });
  }
}

/**
 * Does what must be written even on a disk that is full: gives the reserve up for it and tries once
 * more. Throws what `write` throws.
 */
export function withReserve<T>(state_dir: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    const full = ["ENOSPC", "EDQUOT"].includes(systemErrorCode(error) ?? "");
    if (!full || !existsSync(reservePath(state_dir))) throw error;
    rmSync(reservePath(state_dir), { force: true });
    return write();
  }
}
