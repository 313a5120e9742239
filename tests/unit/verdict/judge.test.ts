import { describe, expect, test } from "vitest";
import { DEFAULT_BOUNDS, judge, sweepSchema, verdictSchema } from "../../../src/verdict/index.ts";
import type { Level } from "../../../src/verdict/index.ts";
import { quietReadings } from "../../helpers/quiet-readings.ts";
import { AT, block, level, noiseBlock, started, sweep } from "./records.ts";

const flat = (slots: number, against: number): Level =>
  level(slots, against, {
    blocks: [1.01, 1.0, 1.02, 0.99].map((ratio) => block(ratio)),
    fidelity: { segments: 24, structural_flips: 0, exact_flips: 0 },
    start_arm: [],
    ended: "no gain",
  });

describe("the verdict", () => {
  test("the highest proven number, and why not more", () => {
    const verdict = judge(sweep([level(2, 1), level(4, 2), flat(8, 4)]), DEFAULT_BOUNDS);
    expect(verdict).toMatchObject({
      result: "measured",
      recommended: 4,
      max_safe: 4,
      first_breach: null,
    });
    expect(verdict.reason).toMatch(
      /^4: 4 slots: \+50 % over 2 slots \(\+4\d\.\d % to \+\d\d\.\d %\), inside every bound, answers proven; above it, no proven gain from 8 slots: \+0 % over 4 slots/,
    );
    expect(verdictSchema.parse(verdict)).toEqual(verdict);
  });

  test("gain and safety are two results", () => {
    const eight = {
      ...flat(8, 4),
      fidelity: { segments: 60, structural_flips: 0, exact_flips: 0 },
    };
    const verdict = judge(sweep([level(2, 1), level(4, 2), eight]), DEFAULT_BOUNDS);
    expect(verdict).toMatchObject({ recommended: 4, max_safe: 8 });
  });

  test("a broken bound ends what is above it, whatever its gain", () => {
    const four = level(4, 2, { readings: quietReadings({ host_used_peak_mb: 27_000 }) });
    const verdict = judge(sweep([level(2, 1), four, level(8, 4)]), DEFAULT_BOUNDS);
    expect(verdict).toMatchObject({ recommended: 2, max_safe: 2 });
    expect(verdict.first_breach).toMatchObject({ slots: 4, bound: "host_memory" });
    expect(verdict.reason).toContain("4 slots broke a bound: memory of the host rose to 27.0 GB");
  });

  test("what does not load is a breach of its number", () => {
    const base = sweep([level(2, 1)]);
    const dead = started(4, { loaded: false, failure: "out of memory", slots_read: null });
    const verdict = judge({ ...base, ladder: [...base.ladder, dead] }, DEFAULT_BOUNDS);
    expect(verdict.recommended).toBe(2);
    expect(verdict.first_breach).toEqual({
      slots: 4,
      bound: "load",
      reason: "the model does not load: out of memory",
    });
    expect(verdict.levels.find((one) => one.slots === 4)?.gain).toBe("not_measured");
  });

  test("a server that was lost is a breach", () => {
    const verdict = judge(sweep([level(2, 1, { lost: "signal 9" })]), DEFAULT_BOUNDS);
    expect(verdict.recommended).toBe(1);
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "server" });
  });

  test("today's stricter bounds are judged from the same records", () => {
    const record = sweep([level(2, 1, { readings: quietReadings({ host_used_peak_mb: 20_000 }) })]);
    expect(judge(record, DEFAULT_BOUNDS).recommended).toBe(2);
    const strict = judge(record, { ...DEFAULT_BOUNDS, memory_ceiling: 0.6 });
    expect(strict.recommended).toBe(1);
    expect(strict.bounds.memory_ceiling).toBe(0.6);
    expect(strict.reason).toContain("the ceiling is 60 % (19.2 GB)");
  });

  test("a gain whose answers are not proven is no recommendation; the step below stands", () => {
    const four = level(4, 2, { fidelity: { segments: 40, structural_flips: 0, exact_flips: 0 } });
    const verdict = judge(sweep([level(2, 1), four]), DEFAULT_BOUNDS);
    expect(verdict).toMatchObject({ recommended: 2, max_safe: 2, first_breach: null });
    expect(verdict.reason).toContain("4 slots gave more output, but the answers are not proven");
    expect(verdict.levels[2]?.warnings[0]).toContain("59 segments are needed");
  });

  test("answers that differ too often break the bound", () => {
    const two = level(2, 1, { fidelity: { segments: 40, structural_flips: 3, exact_flips: 9 } });
    const verdict = judge(sweep([two]), DEFAULT_BOUNDS);
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "fidelity" });
    expect(verdict.reason).toContain("answers (words, tool calls) differ in 3 of 40 segments");
  });

  test("a number that beat one that does not count does not count", () => {
    const verdict = judge(sweep([flat(2, 1), level(4, 2)]), DEFAULT_BOUNDS);
    expect(verdict.recommended).toBe(1);
  });

  test("noise that hides the gate is a result of its own, and no evidence", () => {
    const loud = sweep([]);
    loud.baseline.blocks = [1.4, 0.7, 1.5].map(noiseBlock);
    const verdict = judge(loud, DEFAULT_BOUNDS);
    expect(verdict).toMatchObject({ result: "too_noisy", recommended: 1, max_safe: 1 });
    expect(verdict.reason).toMatch(/^too noisy: equal runs at one slot differ by \d+(\.\d)? %/);
  });

  test("a bound that two slots break is an answer however noisy the device", () => {
    const loud = sweep([]);
    loud.baseline.blocks = [1.4, 0.7, 1.5].map(noiseBlock);
    loud.ladder.push(started(2, { slots_read: 1 }));
    expect(judge(loud, DEFAULT_BOUNDS)).toMatchObject({ result: "measured", recommended: 1 });
  });

  test("what is not complete answers nothing", () => {
    const open = sweep([level(2, 1)], { complete: false, stop: "the time allowed ran out" });
    expect(judge(open, DEFAULT_BOUNDS)).toMatchObject({
      result: "incomplete",
      recommended: 1,
      reason: "not finished: the time allowed ran out. This is no evidence.",
    });
    const noiseless = sweep([level(2, 1)]);
    noiseless.baseline.blocks = [];
    expect(judge(noiseless, DEFAULT_BOUNDS).result).toBe("incomplete");
  });

  test("one slot warns where more would break", () => {
    const poor = sweep([level(2, 1)]);
    poor.baseline.readings = quietReadings({ host_used_peak_mb: 31_000, throttled: null });
    const [one] = judge(poor, DEFAULT_BOUNDS).levels;
    expect(one?.breaches).toEqual([]);
    expect(one?.warnings).toHaveLength(2);
  });
});

test("8 levels of 12 blocks, written out in full, stay far below 64 KiB", () => {
  const blocks = Array.from({ length: 12 }, (_, index) =>
    block(1.5 + index / 1000, {
      busy_s: [123.4567, 98.7654, 99.8765, 121.2345],
      prompt_tokens: [812_345, 812_345, 798_765, 798_765],
      output_tokens: [12_345, 12_343, 12_210, 12_209],
      cached_tokens: [1024, 1024, 2048, 2048],
      requests: 148,
    }),
  );
  const gpu = { id: "0 NVIDIA GeForce RTX 4090", used_peak_mb: 20_123.456, total_mb: 24_564 };
  const full = (slots: number): Level => {
    const base = level(slots, Math.max(1, slots - 1));
    return {
      ...base,
      blocks,
      start: started(slots, { gpus_loaded: [gpu] }),
      start_arm: [...base.start_arm, ...base.start_arm],
      readings: quietReadings({
        gpus: [gpu],
        unavailable: { pressure_level: "this system has no word for it" },
      }),
      discards: [{ reason: "another client used the runner", blocks: 2 }],
    };
  };
  const record = sweep([2, 3, 4, 5, 6, 7, 8, 9].map(full));
  record.baseline.blocks = blocks;
  expect(sweepSchema.parse(record)).toEqual(record);
  const verdict = judge(record, DEFAULT_BOUNDS);
  const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  // The rest of an evidence file (identity, conditions, signature) takes less than 6 KiB.
  expect(bytes(record) + bytes(verdict)).toBeLessThan(58 * 1024);
  expect(AT).toHaveLength(24);
});
