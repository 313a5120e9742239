import { statSync } from "node:fs";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import type { StateFiles } from "./files.ts";

interface Seen {
  dev: number;
  ino: number;
  size: number;
}

function look(path: string): Seen | null {
  try {
    const { dev, ino, size } = statSync(path);
    return { dev, ino, size };
  } catch {
    return null;
  }
}

function same(before: Seen | null, now: Seen | null): boolean {
  return before?.dev === now?.dev && before?.ino === now?.ino;
}

function gone(message: string): TouchstonedError {
  return new TouchstonedError({
    code: "state_gone",
    exitCode: EXIT.unavailable,
    message: `${message}; the daemon ends, and touches nothing more`,
    hint: "Start it again: it makes the queue anew from the files that are there.",
  });
}

/**
 * A daemon goes by its open files even where their names are gone; it would work on in a store that
 * nobody else sees, beside a second daemon. The function throws `state_gone` (69) once the lock or
 * the store are not those any more that are there now.
 */
export function guardState(files: Pick<StateFiles, "lock" | "store">): () => void {
  const [lock, store] = [look(files.lock), look(files.store)];
  return () => {
    if (!same(lock, look(files.lock))) {
      throw gone(`${files.lock} was removed or replaced while the daemon ran`);
    }
    const now = look(files.store);
    if (!same(store, now)) {
      throw gone(`${files.store} was removed or replaced while the daemon ran`);
    }
    if ((now?.size ?? 0) < (store?.size ?? 0)) {
      throw gone(`${files.store} was truncated while the daemon ran`);
    }
  };
}
