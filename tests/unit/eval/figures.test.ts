import { array, assert, double, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { cellMetrics } from "../../../src/eval/cell-metrics.ts";
import {
  knownMax,
  knownMin,
  median,
  medianInterval,
  percentile,
  sampleDeviation,
  variationPercent,
} from "../../../src/eval/stats.ts";
import { summarise } from "../../../src/eval/summary.ts";
import type { GenerateResult } from "../../../src/runners/index.ts";
import { answer, row } from "./fakes.ts";

const { timing, usage } = answer();

function metrics(changes: {
  timing?: Partial<GenerateResult["timing"]>;
  usage?: Partial<GenerateResult["usage"]>;
  server_timing?: GenerateResult["server_timing"];
  text?: string;
  reasoning_text?: string;
}) {
  return cellMetrics(
    answer({
      ...(changes.text === undefined ? {} : { text: changes.text }),
      reasoning_text: changes.reasoning_text ?? "",
      timing: { ...timing, ...changes.timing },
      usage: { ...usage, ...changes.usage },
      ...(changes.server_timing === undefined ? {} : { server_timing: changes.server_timing }),
    }),
  );
}

describe("metrics of one request", () => {
  test("a plain answer: 100 tokens in 1 s, then 20 more tokens in 2 s", () => {
    expect(metrics({})).toEqual({
      ttft_s: 1,
      e2e_s: 3,
      prefill_tps: 100,
      decode_tps: 10,
      prompt_tokens: 100,
      completion_tokens: 21,
      cached_tokens: null,
      reasoning_duration_s: null,
      reasoning_tps: null,
      reasoning_completion_tokens: 0,
    });
  });

  test("tokens out of a cache are not prefilled; a cache of 0 is not an unknown one", () => {
    expect(metrics({ usage: { cached_tokens: 40 } })).toMatchObject({
      prefill_tps: 60,
      cached_tokens: 40,
    });
    expect(metrics({ usage: { cached_tokens: 0 } })).toMatchObject({
      prefill_tps: 100,
      cached_tokens: 0,
    });
    expect(metrics({ usage: { cached_tokens: 51 } }).prefill_tps).toBeNull();
  });

  test("thinking stops neither the clock of the first visible token nor counts as answer", () => {
    const thought = metrics({
      reasoning_text: "hmm",
      timing: { first_reasoning_s: 0.5, last_reasoning_s: 2.5, first_content_s: 3, e2e_s: 5 },
      usage: { completion_tokens: 62, reasoning_tokens: 41 },
    });
    expect(thought).toMatchObject({
      ttft_s: 3,
      prefill_tps: 200,
      decode_tps: 10,
      reasoning_duration_s: 2,
      reasoning_tps: 20,
      reasoning_completion_tokens: 41,
    });
  });

  test("where the server does not tell them apart, characters share the tokens out", () => {
    const shared = metrics({ reasoning_text: "a".repeat(30), text: "b".repeat(10) });
    expect(shared.reasoning_completion_tokens).toBe(16);
  });

  test("no visible token: no time to one, no decode rate", () => {
    const silent = metrics({ text: "", timing: { first_content_s: null } });
    expect(silent).toMatchObject({ ttft_s: null, decode_tps: null, prefill_tps: null, e2e_s: 3 });
  });

  test("what the server does not count is unknown, and one chunk has no rate", () => {
    expect(metrics({ usage: { completion_tokens: null, prompt_tokens: null } })).toMatchObject({
      decode_tps: null,
      prefill_tps: null,
      completion_tokens: null,
      reasoning_completion_tokens: null,
    });
    expect(metrics({ usage: { completion_tokens: 1 } }).decode_tps).toBeNull();
    expect(metrics({ timing: { e2e_s: 1 } }).decode_tps).toBeNull();
  });

  test("tokens that arrive in one piece give no rate, unless the server timed them itself", () => {
    expect(metrics({ timing: { e2e_s: 1.049 } }).decode_tps).toBeNull();
    expect(metrics({ timing: { e2e_s: 1.05 } }).decode_tps).toBeCloseTo(400);
    const told = { load_s: null, prompt_s: 1, decode_s: 0.5, queue_s: null };
    expect(metrics({ timing: { e2e_s: 1.001 }, server_timing: told }).decode_tps).toBe(40);
    // llama-server's figure for one token alone: the window opened with that token.
    const one = metrics({
      usage: { completion_tokens: 1 },
      server_timing: { ...told, decode_s: 0.000_001 },
    });
    expect(one.decode_tps).toBeNull();
  });

  test("a count of thinking tokens that the thought itself belies is none", () => {
    const thought = { reasoning_text: "a".repeat(30), text: "b".repeat(10) };
    const zero = metrics({ ...thought, usage: { reasoning_tokens: 0 } });
    expect(zero.reasoning_completion_tokens).toBe(16);
    const most = metrics({ ...thought, usage: { reasoning_tokens: 22 } });
    expect(most.reasoning_completion_tokens).toBe(16);
  });
});

describe("statistics", () => {
  test("percentile, type 7", () => {
    expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(percentile([1, 2, 3, 4], 0.95)).toBeCloseTo(3.85);
    expect(percentile([7], 0.95)).toBe(7);
    expect(percentile([], 0.5)).toBeNull();
  });

  test("sample deviation and variation", () => {
    expect(sampleDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBeCloseTo(2.138, 3);
    expect(variationPercent([9, 11])).toBeCloseTo(14.142, 3);
    expect([sampleDeviation([1]), variationPercent([-1, 1]), variationPercent([])]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test("known extremes leave out what is not known", () => {
    expect([knownMax([null, 3, 5]), knownMin([null, 3, 5])]).toEqual([5, 3]);
    expect([knownMax([null]), knownMin([])]).toEqual([null, null]);
  });

  // Ranks from the table of the sign test's confidence interval at 95 %.
  test.each([
    [5, null],
    [6, 1],
    [9, 2],
    [12, 3],
    [20, 6],
    [25, 8],
    [2000, 956],
  ])("median interval of %i values begins at rank %j", (n, rank) => {
    const values = Array.from({ length: n }, (_, i) => i + 1);
    const expected = rank === null ? null : { low: rank, high: n + 1 - rank };
    expect(medianInterval(values)).toEqual(expected);
  });

  test("the median lies in its interval", () => {
    const values = array(double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 6 });
    const holds = property(values, (sample) => {
      const [centre, interval] = [median(sample) ?? Number.NaN, medianInterval(sample)];
      expect(interval?.low).toBeLessThanOrEqual(centre);
      expect(interval?.high).toBeGreaterThanOrEqual(centre);
    });
    expect(() => assert(holds)).not.toThrow();
  });
});

describe("summary of a model under a variant", () => {
  test("keeps failed, cold, throttled and battery rows out of the latencies, and counts them", () => {
    const [summary] = summarise([
      row({ ttft_s: 1, e2e_s: 2 }),
      row({ ttft_s: 3, e2e_s: 4 }),
      row({ ttft_s: 50, is_cold_start: true }),
      row({ ttft_s: 60, throttled: true }),
      row({ ttft_s: 70, power_source: "battery" }),
      row({ ttft_s: 80, ok: false }),
      row({ ttft_s: 5, e2e_s: 6, throttled: null, power_source: null }),
    ]);
    expect(summary).toMatchObject({
      total: 7,
      ok: 6,
      failed: 1,
      n: 3,
      excluded: { failed: 1, cold: 1, throttled: 1, battery: 1 },
      ttft_p50_s: 3,
      e2e_med_s: 4,
      cold_ttft_s: 50,
      battery: true,
      throttled: true,
      ttft_interval: null,
    });
  });

  test("one summary for each model and variant, whatever characters the ids have", () => {
    const summaries = summarise([
      row({ model: "a|b", variant: "c" }),
      row({ model: "a", variant: "b|c" }),
      row({ model: "a|b", variant: "c" }),
    ]);
    expect(summaries.map((s) => [s.model, s.variant, s.total])).toEqual([
      ["a|b", "c", 2],
      ["a", "b|c", 1],
    ]);
  });

  test("throughput, cached share and thinking-only answers", () => {
    const [summary] = summarise([
      row({ prompt_tokens: 100, completion_tokens: 20, cached_tokens: 50, e2e_s: 3 }),
      row({ prompt_tokens: 100, completion_tokens: 20, e2e_s: 3 }),
      row({ prompt_tokens: null, content_empty: true, reasoning_chars: 9, e2e_s: 100 }),
    ]);
    expect(summary).toMatchObject({
      total_throughput_tps: 40,
      cached_share: 0.5,
      content_empty: 1,
      reasoning_only: 1,
      answer_tokens_med: 20,
    });
  });

  test("nothing known is nothing said", () => {
    const [summary] = summarise([row({ ok: false, throttled: null, power_source: null })]);
    expect(summary).toMatchObject({
      n: 0,
      ttft_p50_s: null,
      decode_med_tps: null,
      total_throughput_tps: null,
      cached_share: null,
      battery: null,
      throttled: null,
      sys_used_peak_mb: null,
    });
  });
});
