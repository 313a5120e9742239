import { expect, test } from "vitest";
import type { PeriodRequest } from "../../../src/calibrate/device.ts";
import { TwistedDevice, readingsOf, sweepOn } from "./devices.ts";
import type { Twist } from "./devices.ts";

/** Turns of some segments are longer than the context of a slot, where `where` says so. */
const tooLong = (
  where: (request: PeriodRequest, slots: number) => boolean,
  which = (segment_id: string) => segment_id.endsWith("3"),
): Twist => ({
  period: (result, request, slots) => {
    if (!where(request, slots)) return result;
    const turns = result.turns.map((turn) =>
      which(turn.segment_id) ? { ...turn, ok: false, fault: "too long", too_long: true } : turn,
    );
    const failed_turns = turns.filter((turn) => !turn.ok).length;
    return { ...readingsOf(result, { failed_turns }), turns };
  },
});

test("prompts that one slot cannot hold: refused in words, after one block at most", async () => {
  const device = new TwistedDevice(
    {},
    tooLong(() => true),
  );
  const { sweep, verdict, state } = await sweepOn(device);
  expect(verdict).toMatchObject({
    result: "incomplete",
    recommended: 1,
    first_breach: { slots: 1, bound: "context" },
  });
  expect(verdict.reason).toMatch(
    /^it cannot be measured: \d+ turns? (is|are) longer than the 65536 tokens that a slot has\./,
  );
  expect(sweep.stop).toContain("the corpus does not fit the context: 65536 tokens");
  expect(state.excluded).toEqual([]);
  expect(device.periods.length).toBeLessThanOrEqual(4 * 3);
});

test("prompts that fit one slot and not two: a breach at 2, whoever was busy on that start", async () => {
  for (const only of [(busy: number) => busy > 1, (busy: number) => busy === 1]) {
    const twist = tooLong(({ workers }, slots) => slots > 1 && only(workers));
    const device = new TwistedDevice({}, twist);
    const { sweep, verdict, state } = await sweepOn(device);
    expect(verdict).toMatchObject({
      result: "measured",
      recommended: 1,
      max_safe: 1,
      first_breach: { slots: 2, bound: "context" },
    });
    expect(verdict.reason).toMatch(/2 slots broke a bound: \d+ turns? (is|are) longer than the/);
    expect(sweep.levels[0]).toMatchObject({ slots: 2, ended: "a bound broke" });
    // One slot was asked before two were blamed; no prompt was left out of the corpus.
    expect(device.starts.slice(-2)).toEqual([2, 1]);
    expect(state).toMatchObject({ excluded: [], too_long: [] });
  }
});

test("what is met only at 2 and fits no slot is the corpus's fault, not that of 2", async () => {
  const fits = new Set<string>();
  let tried = false;
  const twist: Twist = {
    period: (result, request, slots) => {
      tried ||= slots > 1;
      if (!tried) for (const { segment_id } of result.turns) fits.add(segment_id);
      const { period } = tooLong(
        () => tried,
        (id) => !fits.has(id),
      );
      return period?.(result, request, slots) ?? result;
    },
  };
  const { sweep, verdict } = await sweepOn(new TwistedDevice({}, twist));
  expect(verdict).toMatchObject({ result: "incomplete", first_breach: { slots: 1 } });
  expect(sweep.levels[0]?.too_long_turns).toBeUndefined();
});
