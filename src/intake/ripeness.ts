import { fileKey, type DiskStat } from "../core/disk.ts";

/** One moment on both clocks, milliseconds. */
export interface Moment {
  wall_ms: number;
  monotonic_ms: number;
}

/** What is remembered of a file between looks. */
export interface Seen {
  /** `fileKey` at the last look. */
  key: string;
  /** Monotonic time of the first look that showed this key. */
  since_ms: number;
  /** Not to be taken up before this monotonic time, whatever its looks say. */
  not_before_ms: number;
}

export interface Ripeness {
  seen: Seen;
  ripe: boolean;
  /** How long until it may be ripe, by what is known now. 0 for the second look of a ripe file. */
  wait_ms: number;
  /** Its times are ahead of the wall clock by so much; they were left out of account. */
  ahead_ms: number;
}

/**
 * Whether a file is at rest: two looks at least `min_age_ms` apart on the monotonic clock showed the
 * same key, and its times are that old by the wall clock. Either alone is not enough: copies carry
 * old times, and a wall clock is set. A machine that sleeps has not looked, and its monotonic clock
 * stands still. Times in the future are left out, or a file from a fast clock would never ripen. An
 * empty file gets one more window: programs make the name first.
 */
export function ripeness(
  seen: Seen | undefined,
  stat: DiskStat,
  now: Moment,
  min_age_ms: number,
): Ripeness {
  const key = fileKey(stat);
  const first = seen === undefined || seen.key !== key;
  const next: Seen = first
    ? { key, since_ms: now.monotonic_ms, not_before_ms: now.monotonic_ms }
    : seen;
  const window_ms = stat.kind === "file" && stat.size === 0 ? 2 * min_age_ms : min_age_ms;
  const times_ms = [stat.mtime_ns, stat.ctime_ns].map((time_ns) => Number(time_ns) / 1e6);
  const past_ms = times_ms.filter((time_ms) => time_ms <= now.wall_ms);
  const wait_ms = Math.max(
    0,
    next.since_ms + window_ms - now.monotonic_ms,
    next.not_before_ms - now.monotonic_ms,
    Math.max(...past_ms) + window_ms - now.wall_ms, // -Infinity where there are none
  );
  return {
    seen: next,
    ripe: !first && wait_ms === 0,
    wait_ms,
    ahead_ms: Math.max(0, Math.max(...times_ms) - now.wall_ms),
  };
}
