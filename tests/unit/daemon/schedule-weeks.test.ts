import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Evening, HOUR, NIGHTLY } from "./schedule-setting.ts";

let zone: string | undefined;

beforeEach(() => {
  zone = process.env["TZ"];
});

afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

/** Looks, and counts what was dropped; all of it ends before the next look. */
async function dropsAt(evening: Evening, at: string): Promise<number> {
  await evening.look([{ ...NIGHTLY, at }]);
  const { length } = evening.inbox();
  evening.takeAway();
  return length;
}

const happening = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("pass"), hours: fc.integer({ min: 1, max: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("step"), hours: fc.constantFrom(-1, 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart"), hours: fc.constant(0) }) },
);

test("over weeks of sleeps, clock steps and restarts each evening counts once", async () => {
  process.env["TZ"] = "UTC";
  const DAY = 24 * HOUR;
  const evenings = (ms: number): number => Math.floor((ms - 22 * HOUR) / DAY);
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 120 }), async (happenings) => {
      const evening = new Evening();
      const { clock } = evening.world;
      let dropped = await dropsAt(evening, NIGHTLY.at);
      const begun = evenings(clock.now_ms());
      let furthest_ms = clock.now_ms();
      for (const { kind, hours } of happenings) {
        if (kind === "restart") evening.restart();
        else if (kind === "pass") clock.advance(hours * HOUR);
        else clock.stepWall(hours * HOUR);
        dropped += await dropsAt(evening, NIGHTLY.at);
        furthest_ms = Math.max(furthest_ms, clock.now_ms());
        expect(dropped).toBe(evenings(furthest_ms) - begun);
      }
      expect(evening.warned).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test.each([
  ["spring", "2026-03-27T12:00:00Z"],
  ["autumn", "2026-10-23T12:00:00Z"],
])("in %s, too, a time in the night of the change counts once a day", async (_season, from) => {
  process.env["TZ"] = "Europe/Berlin";
  const evening = new Evening();
  const { clock } = evening.world;
  clock.stepWall(Date.parse(from) - clock.now_ms());
  const days: number[] = [];
  await dropsAt(evening, "30 2 * * *");
  for (let day = 0; day < 5; day += 1) {
    let dropped = 0;
    for (let half_hours = 0; half_hours < 48; half_hours += 1) {
      clock.advance(HOUR / 2);
      dropped += await dropsAt(evening, "30 2 * * *");
    }
    days.push(dropped);
  }
  expect(days).toEqual([1, 1, 1, 1, 1]);
});
