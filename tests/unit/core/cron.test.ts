import { afterEach, beforeEach, expect, test } from "vitest";
import { opensAt, readCron, type CronPattern } from "../../../src/core/cron.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let zone: string | undefined;

beforeEach(() => {
  zone = process.env["TZ"];
  process.env["TZ"] = "Europe/Berlin";
});

afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

function pattern(text: string): CronPattern {
  const reading = readCron(text);
  if (!reading.ok) throw new Error(reading.message);
  return reading.pattern;
}

function nextOf(text: string, after: string): string | undefined {
  const next = pattern(text).next(Date.parse(after));
  return next === null ? undefined : new Date(next).toISOString();
}

test.each([
  ["* 20-23,0-6 * * *", "2026-11-29T12:00:00Z", "2026-11-29T19:00:00.000Z"],
  ["*/15 * * * *", "2026-11-29T12:01:00Z", "2026-11-29T12:15:00.000Z"],
  ["0 3 * * 1-5", "2026-11-27T12:00:00Z", "2026-11-30T02:00:00.000Z"],
  ["0 0 L * *", "2026-02-02T12:00:00Z", "2026-02-27T23:00:00.000Z"],
  [" 0  0 29 2 * ", "2026-03-01T00:00:00Z", "2028-02-28T23:00:00.000Z"],
])("%s after %s", (text, after, then) => {
  expect(nextOf(text, after)).toBe(then);
});

test.each([
  ["60 * * * *", "a value of its minute is out of range"],
  ["0 0 32 * *", "a value of its day is out of range"],
  ["* 20-6 * * *", "runs backwards; write it as two (20-23,0-6)"],
  ["0 0 31 2 *", "fits no minute of any year"],
  ["0 0 31 4,6 *", "fits no minute of any year"],
  ["evening", "five fields"],
  ["* * * * * *", "five fields"],
  ["@daily", "five fields"],
  ["2030-01-01T00:00:00", "five fields"],
  ["", "five fields"],
  ["H * * * *", "illegal characters"],
])("%j is refused", (text, why) => {
  const reading = readCron(text);
  expect(reading.ok ? "" : reading.message).toContain(why);
});

test("a fixed time in the hour that summer leaves out comes right after it, and once", () => {
  expect(nextOf("30 2 * * *", "2026-03-28T12:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
  expect(nextOf("30 2 * * *", "2026-03-29T01:00:00Z")).toBe("2026-03-30T00:30:00.000Z");
});

test("a fixed time in the hour that comes twice in autumn comes once", () => {
  expect(nextOf("30 2 * * *", "2026-10-24T12:00:00Z")).toBe("2026-10-25T00:30:00.000Z");
  expect(nextOf("30 2 * * *", "2026-10-25T00:30:00Z")).toBe("2026-10-26T01:30:00.000Z");
});

test("a window is open in both hours of autumn, and not at all where summer leaves it out", () => {
  const window = pattern("* 2 * * *");
  const autumn = Date.parse("2026-10-25T00:30:20Z");
  expect(window.covers(autumn)).toBe(true);
  expect(window.covers(autumn + HOUR)).toBe(true);
  expect(window.covers(autumn + 2 * HOUR)).toBe(false);
  expect(nextOf("* 2 * * *", "2026-03-29T00:30:00Z")).toBe("2026-03-30T00:00:00.000Z");
});

test("a window opens at once within one of its minutes, else with the next one", () => {
  const window = pattern("* 22 * * *");
  const inside = Date.parse("2026-11-29T21:59:59.900Z");
  expect(opensAt(window, inside)).toBe(inside);
  expect(opensAt(window, inside + 100)).toBe(Date.parse("2026-11-30T21:00:00Z"));
  const before = Date.parse("2026-11-29T20:59:59.999Z");
  expect(opensAt(window, before)).toBe(before + 1);
});
