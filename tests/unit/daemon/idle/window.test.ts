import fc from "fast-check";
import { expect, test } from "vitest";
import { windowAt } from "../../../../src/daemon/idle/window.ts";

/** By the local clock, as patterns are. */
const at = (hour: number, minute: number, second = 0): number =>
  new Date(2026, 10, 29, hour, minute, second).getTime();

test("without a pattern it is always open", async () => {
  expect(await windowAt(undefined, 5)).toEqual({ open: true, next_ms: 5 });
});

test("each minute of the pattern is open to its end, and no other one is", async () => {
  const night = "* 0-6 * * *";
  for (const [hour, minute, second, open] of [
    [0, 0, 0, true],
    [6, 59, 59, true],
    [7, 0, 0, false],
    [23, 59, 59, false],
  ] as const) {
    const window = await windowAt(night, at(hour, minute, second));
    expect([hour, minute, window.open]).toEqual([hour, minute, open]);
  }
});

test("it is told when it opens next; a day that never comes is none", async () => {
  expect(await windowAt("* 22 * * *", at(7, 30, 12))).toEqual({ open: false, next_ms: at(22, 0) });
  expect(await windowAt("*/15 * * * *", at(7, 30, 12))).toEqual({ open: true, next_ms: at(7, 45) });
  await expect(windowAt("0 0 31 2 *", at(7, 30))).rejects.toThrow("calibration.window: ");
});

const field = (least: number, most: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: least, max: most });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const part = fc.oneof(fc.constant("*"), fc.constant("*/7"), value.map(String), range);
  return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));
};

test("the minute that it opens at next is an open one", async () => {
  const pattern = fc
    .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7))
    .map((fields) => fields.join(" "));
  await fc.assert(
    fc.asyncProperty(pattern, async (text) => {
      const { next_ms } = await windowAt(text, at(7, 30));
      expect((await windowAt(text, next_ms ?? 0)).open).toBe(true);
    }),
    { numRuns: 100 },
  );
});
