import { setTimeout as delay } from "node:timers/promises";

/**
 * Waits until `look` gives something that is neither undefined nor false; fails after `limit_ms`
 * with `what`. For things that happen in other processes and tell nobody.
 */
export async function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limit_ms = 30_000,
): Promise<T> {
  const deadline = performance.now() + limit_ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${limit_ms} ms in vain for ${what}`);
    await delay(25);
  }
}
