import { closeSync } from "node:fs";
import { openLocked } from "./lock-file.ts";

/** So long a turn is kept between two tries of one who looks again by himself. */
const KEPT_MS = 15_000;

function turnPath(lock_path: string): string {
  return `${lock_path}.turn`;
}

/**
 * Whoever waits for the lock alone holds the turnstile meanwhile: those who share the lock pass it one
 * by one on their way in, so none comes in any more, and those inside leave by and by.
 */
export class Turn {
  readonly #path: string;
  #fd: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(lock_path: string) {
    this.#path = turnPath(lock_path);
  }

  /** Tries to take it, and keeps it until `release`. Somebody who passes just now may be in the way. */
  async take(): Promise<void> {
    this.#fd ??= await openLocked(this.#path, "exclusive");
  }

  /** Keeps it for one who comes back within seconds; who does not come back holds up nobody. */
  keep(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.release(), KEPT_MS).unref();
  }

  release(): void {
    clearTimeout(this.#timer);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/** Does `enter` on the way through the turnstile; undefined where somebody waits in it. */
export async function passTurn<T>(
  lock_path: string,
  enter: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const fd = await openLocked(turnPath(lock_path), "shared");
  if (fd === undefined) return undefined;
  try {
    return await enter();
  } finally {
    closeSync(fd);
  }
}
