import { describe, expect, test } from "vitest";
import { cardsFrom, dealSegments, sliceOf } from "../../../src/calibrate/sweep-deck.ts";
import { forecast } from "../../../src/calibrate/sweep-forecast.ts";
import { periodOf, servedOf } from "../../../src/calibrate/sweep-period.ts";
import type { SweepProgress } from "../../../src/calibrate/sweep-progress.ts";
import { mergeClient, mergeReadings } from "../../../src/calibrate/sweep-readings.ts";
import { bracket } from "../../../src/calibrate/sweep-search.ts";
import { emptyState } from "../../../src/calibrate/sweep-state.ts";
import { SimulatedDevice } from "../../../bench/verdict/device.ts";
import { quietReadings } from "../../helpers/quiet-readings.ts";
import { CLIENT } from "../verdict/records.ts";
import { CORPUS, FLAT, METHOD, RISING, TwistedDevice, sweepOn, truth } from "./devices.ts";
import type { Twist } from "./devices.ts";

describe("the deck", () => {
  const deck = dealSegments(CORPUS.segments, 42);

  test("every stretch has about the pool's own mix", () => {
    const shares = (from: number): number[] => {
      const stretch = deck.slice(from, from + 20);
      return ["0-16383", "16384-32767", "32768-49151", ">=49152"].map(
        (label) => stretch.filter((card) => card.stratum === label).length,
      );
    };
    for (const from of [0, 7, 40, 80]) {
      const found = shares(from);
      for (const [index, expected] of [4, 6, 6, 4].entries()) {
        expect(Math.abs((found[index] ?? 0) - expected)).toBeLessThanOrEqual(1);
      }
    }
  });

  test("every segment comes up, in the same order each time, in another with another seed", () => {
    expect(new Set(deck.map((card) => card.id)).size).toBe(CORPUS.segments.length);
    const ids = (cards: typeof deck): string => cards.map((card) => card.id).join();
    expect(ids(dealSegments(CORPUS.segments, 42))).toBe(ids(deck));
    expect(ids(dealSegments(CORPUS.segments, 43))).not.toBe(ids(deck));
    expect(dealSegments([], 1)).toEqual([]);
  });

  test("cards of one hand are different, and go round at the end", () => {
    const hand = cardsFrom(deck, deck.length - 2, 10).map((card) => card.id);
    expect(new Set(hand).size).toBe(10);
    expect(cardsFrom(deck, 0, 10_000)).toHaveLength(CORPUS.segments.length);
  });

  test("a slice is always the same turns, and a longer one holds them", () => {
    const [segment] = CORPUS.segments;
    if (segment === undefined) throw new Error("an empty corpus");
    const ids = (turns: number): string[] =>
      sliceOf(segment, turns, 5).turns.map((turn) => turn.id);
    expect(ids(1)).toEqual(ids(1));
    expect(ids(2)).toEqual(expect.arrayContaining(ids(1)));
    expect(ids(3)).toEqual(segment.turns.map((turn) => turn.id));
    expect(ids(9)).toHaveLength(3);
  });
});

describe("throughput of a period", () => {
  /** Mean over many periods, of work that differs fourfold in depth. */
  const rate = async (workers: number, over: Parameters<typeof truth>[0]): Promise<number> => {
    const device = new SimulatedDevice(truth({ noise: 0, ...over }), 3, CORPUS.work);
    const start = await device.start({ slots: workers, context_per_slot: 1 });
    const deck = dealSegments(CORPUS.segments, 1);
    let [tokens, busy_s] = [0, 0];
    for (let period = 0; period < 60; period++) {
      const cards = cardsFrom(deck, period * 3, 3 + 20).map((card) => sliceOf(card, 1, 1));
      const counted = cards.slice(0, 3);
      const lead = cardsFrom(deck, period * 3 + 23, workers - 1).map((card) => sliceOf(card, 1, 1));
      const result = await start.measure({
        workers,
        segments: [...lead, ...counted],
        fillers: cards.slice(3),
        nonce: "",
      });
      const figures = periodOf(servedOf(workers, counted, result));
      tokens += figures.output_tokens;
      busy_s += figures.busy_s;
    }
    return tokens / busy_s;
  };

  test("is not changed by a long last turn, nor by the fillers beside it", async () => {
    const one = await rate(1, { rate: RISING });
    expect((await rate(2, { rate: RISING })) / one).toBeCloseTo(1.8, 1);
    expect((await rate(4, { rate: RISING })) / one).toBeCloseTo(2.9, 1);
  });

  test("a server that answers one after the other gains nothing by a queue", async () => {
    const queue = { fault: "cut_silent" as const, fault_at: 2 };
    const one = await rate(1, queue);
    const four = (await rate(4, queue)) / one;
    expect(four).toBeGreaterThan(0.9);
    expect(four).toBeLessThan(1.1);
  });

  test("time in which a worker had nothing in flight is not lost", () => {
    const turn = {
      turn_id: "s0#0",
      segment_id: "s0",
      ok: true,
      fault: null,
      started_s: 0,
      ended_s: 10,
    };
    const told = {
      prompt_tokens: 5,
      output_tokens: 20,
      cached_tokens: null,
      finish_reason: "stop",
    };
    const outcome = { ...turn, ...told, structural: "text", exact: "x" };
    const segment = { id: "s0", stratum: "", weight: 1, turns: [{ id: "s0#0", segment_id: "s0" }] };
    const figures = periodOf({
      workers: 2,
      counted: [outcome],
      result: {
        turns: [outcome],
        window_s: 10,
        requests: 3,
        readings: quietReadings(),
        client: { ...CLIENT, in_flight_share: 0.8 },
        disturbed: null,
        lost: null,
        ended_at_ms: 0,
      },
    });
    expect(figures).toMatchObject({ busy_s: 10 / 2 / 0.8, output_tokens: 20, cached_tokens: null });
    const result = { turns: [outcome, { ...outcome, turn_id: "lead" }] };
    expect(servedOf(2, [segment], result as never).counted).toEqual([outcome]);
  });
});

describe("readings of several periods", () => {
  test("the worst counts, and counts add up", () => {
    const merged = mergeReadings(
      quietReadings({ host_used_peak_mb: 10, failed_turns: 1, pressure_level: "warn" }),
      quietReadings({ host_used_peak_mb: 20, failed_turns: 2, pressure_level: "normal" }),
    );
    expect(merged).toMatchObject({
      samples: 40,
      host_used_peak_mb: 20,
      failed_turns: 3,
      pressure_level: "warn",
    });
  });

  test("what was not read once is not known, and says why", () => {
    const merged = mergeReadings(
      quietReadings({ swap_out_mb_per_min: null, unavailable: { swap_out_mb_per_min: "gone" } }),
      quietReadings({ throttled: null, cgroup_limit_mb: 8000 }),
    );
    expect(merged).toMatchObject({
      swap_out_mb_per_min: null,
      throttled: null,
      cgroup_limit_mb: null,
    });
    expect(merged.unavailable).toMatchObject({
      swap_out_mb_per_min: "gone",
      throttled: "it was read in some periods only",
      cgroup_limit_mb: "it was read in some periods only",
    });
  });

  test("what a host took is the worst, and absent where there is none", () => {
    const taken = (a?: number | null, b?: number | null) => {
      const of = (share?: number | null) =>
        quietReadings(share === undefined ? {} : { stolen_time_share: share });
      return mergeReadings(of(a), of(b));
    };
    expect(taken(0.02, 0.04).stolen_time_share).toBe(0.04);
    expect(taken(0.02, null).stolen_time_share).toBeNull();
    expect(taken(0.02).stolen_time_share).toBeNull();
    expect(taken()).not.toHaveProperty("stolen_time_share");
  });

  test("a bad sign wins over an unknown one", () => {
    const flags = (a: boolean | null, b: boolean | null) =>
      mergeReadings(
        quietReadings({ throttled: a, alone: a }),
        quietReadings({ throttled: b, alone: b }),
      );
    expect(flags(null, true)).toMatchObject({ throttled: true, alone: null });
    expect(flags(null, false)).toMatchObject({ throttled: null, alone: false });
  });

  test("a GPU that is seen only once is not known; none is none", () => {
    const gpu = { id: "0", used_peak_mb: 5, total_mb: 8 };
    expect(
      mergeReadings(quietReadings({ gpus: [gpu] }), quietReadings()).gpus?.[0]?.used_peak_mb,
    ).toBeNull();
    expect(mergeReadings(quietReadings({ gpus: null }), quietReadings()).gpus).toBeNull();
    const higher = mergeReadings(
      quietReadings({ gpus: [gpu] }),
      quietReadings({ gpus: [{ ...gpu, used_peak_mb: 7 }] }),
    );
    expect(higher.gpus).toEqual([{ ...gpu, used_peak_mb: 7 }]);
  });

  test("the client's means are means, its delay is the worst", () => {
    const later = { in_flight_share: 0.9, event_loop_delay_p99_ms: 2, cpu_share: 0.2 };
    const merged = mergeClient({ ...CLIENT, in_flight_share: 0.99 }, 2, later);
    expect(merged.in_flight_share).toBeCloseTo((2 * 0.99 + 0.9) / 3, 10);
    expect(merged.event_loop_delay_p99_ms).toBe(4);
    expect(mergeClient(CLIENT, 1, { ...later, cpu_share: null }).cpu_share).toBeNull();
  });
});

describe("what people are told meanwhile", () => {
  test("phases in order, ratio so far, and what is left", async () => {
    const seen: SweepProgress[] = [];
    const device = new TwistedDevice();
    const { sweep } = await sweepOn(device, { onProgress: (progress) => seen.push(progress) });
    const phases = seen.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1]);
    expect(phases.slice(0, 4)).toEqual(["ladder", "noise", "level", "starts"]);
    expect(phases.at(-1)).toBe("done");
    const two = seen.findLast((one) => one.phase === "level" && one.slots === 2);
    expect(two?.ratio).toBeGreaterThan(1.5);
    expect(two?.ratio_low).toBeLessThan(two?.ratio ?? 0);
    expect(seen.at(-1)).toMatchObject({ message: sweep.stop, requests: sweep.requests });
    const noise = seen.find((one) => one.phase === "noise" && one.block === 2);
    const left_s = noise?.remaining_s_high ?? 0;
    const spent_s = device.inner.clock.monotonic_ms() / 1000;
    expect(noise?.remaining_s_low).toBeLessThan(spent_s);
    expect(left_s).toBeGreaterThan(spent_s / 2);
  });

  test("a gain is never told as ruled out beside an interval that holds it", async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const told: SweepProgress[] = [];
      const device = new TwistedDevice({ rate: FLAT, noise: 0.05 }, {}, seed);
      const { verdict } = await sweepOn(device, { onProgress: (one) => told.push(one) });
      const closed = told.filter(({ message }) => message.includes("ruled out"));
      for (const { ratio_high } of closed) expect(ratio_high).toBeLessThan(1.2);
      // Two blocks already have an interval that says something.
      const second = told.filter(({ phase, block }) => phase === "level" && block === 3);
      for (const { ratio_high } of second) expect(ratio_high).toBeLessThan(2);
      const given = verdict.levels.filter(({ warnings }) => warnings.join().includes("ruled out"));
      for (const { ratio_high } of given) expect(ratio_high).toBeLessThan(1.2);
      expect(given.length).toBe(new Set(closed.map(({ slots }) => slots)).size);
    }
  });

  test("before anything was measured nothing is foretold", () => {
    expect(forecast(emptyState(METHOD, CORPUS.summary))).toEqual({
      remaining_s_low: null,
      remaining_s_high: null,
      steps_done: 0,
      steps_about: 17,
    });
  });

  test("steps only grow in number, and at the end are as many as were foretold last", async () => {
    const seen: SweepProgress[] = [];
    await sweepOn(new TwistedDevice(), { onProgress: (progress) => seen.push(progress) });
    const done = seen.map(({ steps_done }) => steps_done);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(done.at(-1)).toBeGreaterThan(10);
    expect(seen.every(({ steps_done, steps_about }) => steps_about >= steps_done)).toBe(true);
    const middle = seen[Math.floor(seen.length / 2)];
    expect(middle?.steps_about).toBeGreaterThan((done.at(-1) ?? 0) / 3);
    expect(middle?.steps_about).toBeLessThan((done.at(-1) ?? 0) * 3);
  });
});

describe("a few things more", () => {
  test("a search that came to the last number allowed does not say that more would not gain", async () => {
    const method = { ...METHOD, max_slots: 2 };
    const { sweep, verdict } = await sweepOn(new TwistedDevice(), { method });
    expect(verdict.recommended).toBe(2);
    expect(sweep.stop).toBe("no more than 2 slots were to be tried");
    const one = await sweepOn(new TwistedDevice(), { method: { ...METHOD, max_slots: 1 } });
    expect(one.sweep.stop).toBe("no more than 1 slot was to be tried");
    const flat = await sweepOn(new TwistedDevice({ rate: FLAT }), { method });
    expect(flat.sweep.stop).toBe("no more slots can be expected to gain");
  });

  test.each([
    [1, []],
    [2, [2]],
    [6, [2, 4, 6]],
    [8, [2, 4, 8]],
  ])("at most %d slots: %j", (most, levels) => {
    expect(bracket(most)).toEqual(levels);
  });

  test("production sampling is reported at the number that was found, and changes no verdict", async () => {
    for (const fault of ["none", "load"] as const) {
      const plain = await sweepOn(new TwistedDevice({ fault, fault_at: 2 }));
      const device = new TwistedDevice({ fault, fault_at: 2 });
      const { sweep, verdict } = await sweepOn(device, {
        production_sampling: { temperature: null },
      });
      expect(verdict).toEqual(plain.verdict);
      const { production_sampling: sampled, ...rest } = sweep;
      expect(rest).toEqual({ ...plain.sweep, requests: rest.requests });
      const slots = verdict.recommended;
      expect(sampled).toMatchObject({ slots, temperature: null, failed_turns: 0, note: "" });
      expect(sampled?.blocks).toHaveLength(3);
      const drawn = device.periods.filter(({ request }) => request.sampling !== undefined);
      expect(drawn.map((one) => one.slots)).toEqual(Array.from(drawn, () => slots));
      expect(new Set(drawn.map(({ request }) => request.workers))).toEqual(new Set([1, slots]));
    }
  });

  test("production sampling that comes to nothing says why, and stops nothing", async () => {
    const twist: Twist = {
      period: (result, { sampling }) =>
        sampling === undefined ? result : { ...result, disturbed: "another client was there" },
    };
    const { sweep, verdict } = await sweepOn(new TwistedDevice({}, twist), {
      production_sampling: { temperature: 0.8 },
    });
    expect(verdict.result).toBe("measured");
    expect(sweep.production_sampling).toMatchObject({
      blocks: [],
      note: "another client was there",
    });
  });

  test("extras are measured, reported and never judged", async () => {
    const device = new TwistedDevice({ fault: "load", fault_at: 8 });
    const extras = [
      { slots: 2, context_per_slot: 32_768 },
      { slots: 8, context_per_slot: 16_384 },
    ];
    const { sweep, verdict } = await sweepOn(device, { extras, ladder_slots: [1, 2, 4] });
    expect(sweep.extras.map((extra) => [extra.slots, extra.context_per_slot])).toEqual([
      [2, 32_768],
      [8, 16_384],
    ]);
    expect(sweep.extras[0]?.period?.turns).toBe(4);
    expect(sweep.extras[1]).toMatchObject({ period: null, note: "did not load: out of memory" });
    expect(verdict.recommended).toBe(4);
    expect(device.running).toBe(0);
  });
});
