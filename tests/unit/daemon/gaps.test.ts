import { expect, test } from "vitest";
import { findGap, type Clocks } from "../../../src/daemon/gaps.ts";

const HOUR = 3_600_000;
const BEFORE: Clocks = { wall_ms: 1e12, monotonic_ms: 500, uptime_ms: 9000 };

function after(wall_ms: number, monotonic_ms: number, uptime_ms: number | null): Clocks {
  return {
    wall_ms: BEFORE.wall_ms + wall_ms,
    monotonic_ms: BEFORE.monotonic_ms + monotonic_ms,
    uptime_ms: uptime_ms === null ? null : 9000 + uptime_ms,
  };
}

test.each([
  ["nothing", after(60_000, 60_000, 60_000), null],
  ["a late timer", after(70_000, 70_000, 70_000), null],
  ["a slewed clock", after(61_000, 60_000, 60_000), null],
  ["a sleep", after(7 * HOUR, 20_000, 7 * HOUR), "slept about 7 h"],
  ["a short sleep", after(80_000, 20_000, 80_000), "slept about 60 s"],
  ["a clock set forward", after(HOUR, 60_000, 60_000), "clock set forward by about 59 min"],
  ["a clock set back", after(-HOUR, 60_000, 60_000), "clock set back by about 61 min"],
  ["a stopped process", after(5 * 60_000, 5 * 60_000, 5 * 60_000), "stood still for about 4 min"],
])("%s", (_what, now, text) => {
  expect(findGap(BEFORE, now, 60_000)?.text ?? null).toBe(text);
});

test("without the time since boot a sleep and a clock set forward look the same", () => {
  const gap = findGap({ ...BEFORE, uptime_ms: null }, after(7 * HOUR, 60_000, null), 60_000);
  expect(gap?.kind).toBe("slept_or_forward");
  expect(gap?.text).toContain("slept about 7 h, or");
});

test("without it a stop of all timers may have been a sleep as well", () => {
  const gap = findGap({ ...BEFORE, uptime_ms: null }, after(7 * HOUR, 7 * HOUR, null), 60_000);
  expect(gap?.text).toBe("slept or stood still for about 7 h");
});

test("a wait that was cut short is no gap", () => {
  expect(findGap(BEFORE, after(5, 5, 5), 60_000)).toBeNull();
});
