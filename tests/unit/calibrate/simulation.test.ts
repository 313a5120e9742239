import { expect, test } from "vitest";
import { rowsOf, tableOf } from "../../../bench/verdict/report.ts";
import { trial } from "../../../bench/verdict/simulate.ts";
import type { Trial } from "../../../bench/verdict/simulate.ts";

// The large one is `npm run bench:verdict`. Seeds are fixed: this one says whether the engine still does what
// it did, not how often a device is unlucky.
test("150 devices of known truth: no answer too high, few gains missed", async () => {
  const trials: Trial[] = [];
  for (let seed = 0; seed < 150; seed++) trials.push(await trial(9_000_000 + seed));
  const rows = rowsOf(trials);
  const [high, missed, one, more] = rows;
  expect(high?.method, tableOf(rows)).toBeLessThanOrEqual(0.01);
  expect(high?.fixed).toBeGreaterThan(0.05);
  expect(missed?.method).toBeLessThanOrEqual(0.1);
  expect(one?.method).toBeLessThanOrEqual(0.6);
  expect(more?.method).toBeLessThanOrEqual(2);
  expect(new Set(trials.map((each) => each.truth.fault)).size).toBe(9);
}, 120_000);
