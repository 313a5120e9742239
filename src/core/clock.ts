import { setTimeout as delay } from "node:timers/promises";

/**
 * Time as an argument. Durations and limits use the monotonic clock only: the wall clock may be set
 * back or forward under us, and a laptop may sleep.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01 UTC. For records, never for durations. */
  now_ms(): number;
  /** Monotonic clock, milliseconds, arbitrary zero, with a fraction. */
  monotonic_ms(): number;
  /** Resolves after `duration_ms`, or at once when `signal` aborts. Never rejects. */
  sleep(duration_ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
  async sleep(duration_ms, signal) {
    try {
      // Node cuts a fraction off and fires early: whoever looks then has to wait once more.
      await delay(Math.ceil(duration_ms), undefined, signal === undefined ? {} : { signal });
    } catch {
      // An aborted wait is an ended wait: the caller looks at its signal.
    }
  },
};

/** RFC 3339 in UTC with milliseconds, as every record of this program writes it. */
export function isoTime(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString();
}

/** `2026-11-29T13-40-35Z`: sorts by time and is a legal file name everywhere. */
export function fileTime(epoch_ms: number): string {
  return `${new Date(epoch_ms).toISOString().slice(0, 19).replaceAll(":", "-")}Z`;
}

/** What `what` gives, or "late" after `limit_ms`; no timer is left behind. */
export async function waitAtMost<T>(
  what: Promise<T>,
  limit_ms: number,
  clock: Clock,
): Promise<T | "late"> {
  const limit = new AbortController();
  const late = clock.sleep(limit_ms, limit.signal).then(() => "late" as const);
  const first = await Promise.race([what, late]);
  limit.abort();
  return first;
}
