import type { Clock } from "../core/clock.ts";
import { fault } from "./fault.ts";
import type { Fault } from "./runner.ts";

/** What one look says: done, not yet (and why), or a fault that no waiting cures. */
export type Look =
  | { state: "done" }
  | { state: "wait"; fault: Fault }
  | { state: "failed"; fault: Fault };

const INTERVAL_MS = 250;

/**
 * Looks again and again until it is done, failed, cancelled or `limit_s` is over. Gives null when
 * done; else the fault, which past the limit is the reason of the last look.
 */
export async function poll(
  look: () => Promise<Look>,
  options: { limit_s: number; signal?: AbortSignal | undefined },
  clock: Clock,
): Promise<Fault | null> {
  const deadline_ms = clock.monotonic_ms() + options.limit_s * 1000;
  for (;;) {
    if (options.signal?.aborted === true) return fault("cancelled", "cancelled");
    const seen = await look();
    if (seen.state === "done") return null;
    if (seen.state === "failed") return seen.fault;
    const left_ms = deadline_ms - clock.monotonic_ms();
    if (left_ms <= 0) {
      return { ...seen.fault, message: `${seen.fault.message} (waited ${options.limit_s} s)` };
    }
    await clock.sleep(Math.min(INTERVAL_MS, left_ms), options.signal);
  }
}

/** Trouble that a server which is only starting or loading has, and loses by itself. */
export function passing(trouble: Fault): boolean {
  return ["loading", "unreachable", "busy", "connect_timeout", "total_timeout"].includes(
    trouble.class,
  );
}
