import { describe, expect, test } from "vitest";
import type { SweepState } from "../../../src/calibrate/sweep-state.ts";
import { GAVE_WAY } from "../../../src/calibrate/sweep.ts";
import { emptyState, usableState } from "../../../src/calibrate/sweep-state.ts";
import { isoTime } from "../../../src/core/clock.ts";
import { Draw } from "../../../bench/verdict/random.ts";
import { CORPUS, METHOD, TwistedDevice, sweepOn } from "./devices.ts";

const DAY_MS = 86_400_000;

/** A device without any noise: what it gives does not depend on when it is asked. */
const steady = (twist = {}): TwistedDevice => new TwistedDevice({ noise: 0 }, twist);

/** A checkpoint as a file has it: text between two runs. */
class Checkpoint {
  text: string | undefined;
  saves = 0;
  load = (): SweepState | undefined =>
    this.text === undefined ? undefined : (JSON.parse(this.text) as SweepState);
  save = (state: SweepState): void => {
    this.text = JSON.stringify(state);
    this.saves += 1;
  };
}

describe("a sweep that is interrupted", () => {
  test("in each of its periods, and run again, gives the same verdict", async () => {
    const method = { ...METHOD, max_slots: 4 };
    const whole = steady();
    const first = await sweepOn(whole, { method });
    const periods = whole.periods.length;
    const answers: unknown[] = [];
    // Every third one: over the four periods of a block each place comes up.
    for (let at = 1; at <= periods; at += 3) {
      const checkpoint = new Checkpoint();
      const controller = new AbortController();
      let count = 0;
      const device = steady({
        period: (result: never) => {
          count += 1;
          if (count === at) controller.abort();
          return result;
        },
      });
      const cut = await sweepOn(device, { method, checkpoint, signal: controller.signal });
      const again = await sweepOn(device, { method, checkpoint, random: new Draw(at).unit });
      const { recommended, max_safe, result } = again.verdict;
      answers.push([cut.verdict.result, result, recommended, max_safe, device.running]);
      expect(again.sweep.levels.map((level) => level.blocks.length)).toEqual(
        first.sweep.levels.map((level) => level.blocks.length),
      );
    }
    const same = ["incomplete", "measured", first.verdict.recommended, first.verdict.max_safe, 0];
    expect(answers).toEqual(answers.map(() => same));
    expect(answers.length).toBeGreaterThan(15);
    expect(first.verdict.recommended).toBe(4);
  }, 60_000);

  test("drops what the cut-off period had begun", async () => {
    const controller = new AbortController();
    const checkpoint = new Checkpoint();
    const device = steady({
      period: (result: object, request: { workers: number }) => {
        if (request.workers < 2) return result;
        controller.abort();
        // What a device says of a period that was cut off means nothing.
        return { ...result, lost: "aborted", disturbed: "aborted", turns: [] };
      },
    });
    const { sweep, verdict } = await sweepOn(device, { checkpoint, signal: controller.signal });
    expect(verdict.reason).toBe("not finished: it was interrupted. This is no evidence.");
    expect(sweep.levels[0]).toMatchObject({ blocks: [], lost: null, discards: [] });
    expect(device.running).toBe(0);
  });

  test("by a device that throws on the signal ends as interrupted; other errors come through", async () => {
    const controller = new AbortController();
    const throwing = (abort: boolean): TwistedDevice =>
      steady({
        period: () => {
          if (abort) controller.abort();
          throw new Error("socket closed");
        },
      });
    const { verdict } = await sweepOn(throwing(true), { signal: controller.signal });
    expect(verdict.result).toBe("incomplete");
    const device = throwing(false);
    await expect(sweepOn(device)).rejects.toThrow("socket closed");
    expect(device.running).toBe(0);
  });

  test("by giving way ends after the step under way, whose work is kept", async () => {
    const checkpoint = new Checkpoint();
    const giving = new AbortController();
    let workers = 0;
    const device = steady({
      period: (result: object, request: { workers: number }) => {
        workers = Math.max(workers, request.workers);
        if (request.workers > 1) giving.abort();
        return result;
      },
    });
    const first = await sweepOn(device, { checkpoint, give_way: giving.signal });
    expect([first.sweep.complete, first.sweep.stop]).toEqual([false, GAVE_WAY]);
    expect([workers, first.sweep.levels[0]?.blocks.length, device.running]).toEqual([2, 1, 0]);
    const { steps = 0 } = checkpoint.load() ?? {};
    const again = await sweepOn(device, { checkpoint });
    expect(again.verdict).toMatchObject({ result: "measured", recommended: 4 });
    expect(again.sweep.levels[0]?.blocks[0]).toEqual(first.sweep.levels[0]?.blocks[0]);
    expect(checkpoint.load()?.steps).toBeGreaterThan(steps);
  });

  test("before its first step measures nothing at all", async () => {
    const checkpoint = new Checkpoint();
    const device = steady();
    const { sweep } = await sweepOn(device, { checkpoint, give_way: AbortSignal.abort() });
    expect([sweep.stop, device.periods.length, checkpoint.saves]).toEqual([GAVE_WAY, 0, 0]);
  });

  test("by its budget goes on from there", async () => {
    const checkpoint = new Checkpoint();
    const device = steady();
    const runs: string[] = [];
    for (let run = 0; run < 40 && runs.at(-1) !== "measured"; run++) {
      const before_s = device.inner.clock.monotonic_ms() / 1000;
      const { verdict } = await sweepOn(device, { checkpoint, budget_s: 600 });
      runs.push(verdict.result);
      const spent_s = device.inner.clock.monotonic_ms() / 1000 - before_s;
      expect(spent_s).toBeLessThan(800);
    }
    expect(runs.length).toBeGreaterThan(2);
    expect(runs.at(-1)).toBe("measured");
    expect(runs.slice(0, -1).every((result) => result === "incomplete")).toBe(true);
  });

  test("by somebody else, three times, is not finished; a later run begins its repeats anew", async () => {
    const checkpoint = new Checkpoint();
    let quiet = false;
    const device = steady({
      period: (result: object, request: { workers: number }) =>
        request.workers > 1 && !quiet
          ? { ...result, disturbed: "another client used the runner" }
          : result,
    });
    const first = await sweepOn(device, { checkpoint });
    expect(first.verdict).toMatchObject({
      result: "incomplete",
      reason: "not finished: another client used the runner. This is no evidence.",
    });
    expect(first.sweep.levels[0]?.discards).toEqual([
      { reason: "another client used the runner", blocks: 3 },
    ]);
    quiet = true;
    const second = await sweepOn(device, { checkpoint });
    expect(second.verdict).toMatchObject({ result: "measured", recommended: 4 });
  });

  test("by somebody else once or twice only costs the block", async () => {
    let count = 0;
    const device = steady({
      period: (result: object) => {
        count += 1;
        return count % 19 === 0 ? { ...result, disturbed: "another client" } : result;
      },
    });
    const { verdict } = await sweepOn(device);
    expect(verdict).toMatchObject({ result: "measured", recommended: 4 });
  });
});

describe("what a saved state is worth", () => {
  const saved = async (): Promise<{ checkpoint: Checkpoint; device: TwistedDevice }> => {
    const checkpoint = new Checkpoint();
    const device = steady();
    await sweepOn(device, { checkpoint });
    return { checkpoint, device };
  };

  test("a finished sweep measures nothing again on the next day", async () => {
    const { checkpoint, device } = await saved();
    const before = device.periods.length;
    device.inner.clock.advance(86_400);
    const { verdict } = await sweepOn(device, { checkpoint });
    expect(verdict.recommended).toBe(4);
    expect(device.periods).toHaveLength(before);
  });

  test("on day 31 everything is measured again", async () => {
    const { checkpoint, device } = await saved();
    const before = device.periods.length;
    device.inner.clock.advance(31 * 86_400);
    const { sweep } = await sweepOn(device, { checkpoint });
    expect(device.periods.length).toBeGreaterThan(before + 20);
    const oldest = Date.parse(sweep.baseline.measured_from);
    expect(device.inner.clock.now_ms() - oldest).toBeLessThan(DAY_MS);
  });

  test("a clock that was set back makes it old, another method or corpus another sweep", async () => {
    const { checkpoint, device } = await saved();
    const state = checkpoint.load();
    const now_ms = device.inner.clock.now_ms();
    const fresh = emptyState(METHOD, CORPUS.summary);
    expect(usableState(state, fresh, { now_ms })).not.toBe(fresh);
    expect(usableState(state, fresh, { now_ms: now_ms - DAY_MS })).toBe(fresh);
    const colder = emptyState({ ...METHOD, temperature: 0.7 }, CORPUS.summary);
    expect(usableState(state, colder, { now_ms })).toBe(colder);
    const other = emptyState(METHOD, { ...CORPUS.summary, sha256: "1".repeat(64) });
    expect(usableState(state, other, { now_ms })).toBe(other);
    expect(usableState(undefined, fresh, { now_ms })).toBe(fresh);
  });

  test("a level that grew old is measured again, what is young stays", async () => {
    const { checkpoint, device } = await saved();
    const state = checkpoint.load();
    const now_ms = device.inner.clock.now_ms();
    const [first] = state?.levels ?? [];
    if (state === undefined || first === undefined) throw new Error("nothing was saved");
    first.measured_from = isoTime(now_ms - 40 * DAY_MS);
    const usable = usableState(state, emptyState(METHOD, CORPUS.summary), { now_ms });
    expect(usable.levels.map((level) => level.slots)).not.toContain(2);
    expect(usable.levels.length).toBe(state.levels.length - 1);
    expect(usable.baseline.blocks).toEqual(state.baseline.blocks);
  });
});
