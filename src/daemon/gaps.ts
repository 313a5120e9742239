/** Differences up to this are a busy machine's and not worth a word. */
const GAP_MS = 15_000;

export interface Clocks {
  wall_ms: number;
  /** Stands still while the machine sleeps, on most systems. */
  monotonic_ms: number;
  /** Since boot, sleep included; null where that cannot be told. */
  uptime_ms: number | null;
}

export interface Gap {
  kind: "slept" | "stopped" | "clock_forward" | "clock_back" | "slept_or_forward";
  ms: number;
  text: string;
}

function about(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1.5) return `${Math.round(ms / 1000)} s`;
  if (minutes < 90) return `${Math.round(minutes)} min`;
  return `${Math.round(minutes / 60)} h`;
}

/**
 * What happened to the clocks over a wait of at most `wait_ms`, or null where they ran as they should.
 * A sleep shows in the time since boot and not in the monotonic clock; a clock that was set shows in
 * the wall clock alone; a process that was stopped shows in a wait that was too long by all of them.
 */
export function findGap(before: Clocks, after: Clocks, wait_ms: number): Gap | null {
  const monotonic_ms = after.monotonic_ms - before.monotonic_ms;
  const ahead_ms = after.wall_ms - before.wall_ms - monotonic_ms;
  const slept_ms =
    before.uptime_ms === null || after.uptime_ms === null
      ? null
      : after.uptime_ms - before.uptime_ms - monotonic_ms;
  if (slept_ms !== null && slept_ms > GAP_MS) {
    return { kind: "slept", ms: slept_ms, text: `slept about ${about(slept_ms)}` };
  }
  if (ahead_ms < -GAP_MS) {
    return {
      kind: "clock_back",
      ms: -ahead_ms,
      text: `clock set back by about ${about(-ahead_ms)}`,
    };
  }
  if (ahead_ms > GAP_MS) {
    const time = about(ahead_ms);
    if (slept_ms !== null) {
      return { kind: "clock_forward", ms: ahead_ms, text: `clock set forward by about ${time}` };
    }
    const text = `slept about ${time}, or the clock was set forward`;
    return { kind: "slept_or_forward", ms: ahead_ms, text };
  }
  const late_ms = monotonic_ms - wait_ms;
  if (late_ms <= GAP_MS) return null;
  // Where the time since boot is not known, the monotonic clock may go on in a sleep (macOS).
  const what = slept_ms === null ? "slept or stood still" : "stood still";
  return { kind: "stopped", ms: late_ms, text: `${what} for about ${about(late_ms)}` };
}
