import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modelSpecSchema } from "../../../src/core/model-spec.ts";
import {
  bundleState,
  evalStepFault,
  loadStepFault,
  readLoad,
  readManifest,
  readResponses,
  type EvalProgress,
} from "../../../src/eval/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import {
  answer,
  config,
  events,
  eventTypes,
  failed,
  FakeRunner,
  fakeProbes,
  fault,
  PACK,
  run,
} from "./fakes.ts";

describe("a run from end to end", () => {
  test("asks every cell once, in order, and leaves a whole bundle", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const started_ms = Date.now();
    const outcome = await run(dir, runner);

    expect(outcome).toMatchObject({
      exit_code: 0,
      cells_total: 8,
      cells_ok: 8,
      cells_failed: 0,
      breaker: null,
      error: null,
    });
    const keys = readResponses(dir).map((r) => [r.variant, r.prompt_id, r.repeat]);
    expect(keys).toEqual([
      ["none", "a1", 0],
      ["none", "a2", 0],
      ["none", "a2", 1],
      ["none", "b1", 0],
      ["terse", "a1", 0],
      ["terse", "a2", 0],
      ["terse", "a2", 1],
      ["terse", "b1", 0],
    ]);
    expect(bundleState(dir)).toMatchObject({ state: "whole", cells_ok: 8 });
    expect(evalStepFault(dir, started_ms)).toBeNull();
    expect(readFileSync(join(dir, "perf.csv"), "utf8").trim().split("\n")).toHaveLength(9);
    expect(readFileSync(join(dir, "pack.yaml"), "utf8")).toBe(PACK);
  });

  test("measures in this order: baseline, load, steady baseline, model, requests", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const probes = fakeProbes(runner.calls);
    await run(dir, runner, { probes });
    expect(runner.calls.slice(0, 5)).toEqual([
      "sampler",
      "load",
      "sampler",
      "findFault",
      "generate",
    ]);
    expect(runner.calls.filter((call) => call === "findFault")).toHaveLength(1);
    expect(probes.stopped).toBe(probes.started);
    expect(eventTypes(dir).slice(0, 4)).toEqual([
      "load_start",
      "load_done",
      "run_start",
      "cell_start",
    ]);
    expect(events(dir).at(-1)).toMatchObject({ type: "run_done", total: 8, ok: 8 });
  });

  test("has written the manifest before the first request", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    let seen: unknown;
    runner.reply = (_request, n) => {
      if (n === 0) seen = readManifest(dir);
      return answer();
    };
    await run(dir, runner);
    expect(seen).toMatchObject({
      model: { id: "m", max_tokens_default: 400 },
      pack: { id: "p", version: 3 },
      runner: { name: "fake", version: "1.0", residency: "managed", host: "127.0.0.1:8080" },
      served: { digest: "abc" },
      cells_total: 8,
    });
  });

  test("sends what the pack and the spec say and nothing else", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const model = modelSpecSchema.parse({
      id: "m",
      reasoning_headroom_tokens: 90,
      extra_body: { reasoning_effort: "low" },
    });
    await run(dir, runner, { model });
    const [first, second, third] = runner.requests;
    expect(first).toMatchObject({
      messages: [{ role: "user", content: "What is six times seven?" }],
      max_tokens: 100,
      temperature: 0.5,
      seed: 7,
      extra_body: { reasoning_effort: "low" },
      limits: { connect_s: 10, first_token_s: 1500, stall_s: 300, total_s: null },
    });
    expect(second).toMatchObject({ max_tokens: null, seed: 7 });
    expect(third?.seed).toBe(8);
    expect(runner.requests[4]?.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("flags requests as cold until the first answer", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = (_request, n) => (n === 0 ? failed("stall_timeout") : answer());
    await run(dir, runner);
    const cold = readResponses(dir).map((r) => r.is_cold_start);
    expect(cold).toEqual([true, true, false, false, false, false, false, false]);
  });

  test("decides the checks of each answer", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = (_request, n) => answer({ text: n === 0 ? "forty-two" : "no idea" });
    await run(dir, runner);
    const results = readResponses(dir).filter((r) => r.prompt_id === "a1");
    expect(results.map((r) => r.checks[0]?.passed)).toEqual([true, false]);
  });

  test("takes the power of each request, battery where either look says so", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const sources = ["ac", "ac", "battery", "ac", null, "ac"] as const;
    let looks = 0;
    const probes = fakeProbes();
    probes.readPower = async () => ({ source: sources[looks++ % 6] ?? null, reason: null });
    await run(dir, runner, { probes });
    const power = readResponses(dir).map((r) => r.power_source);
    expect(power.slice(0, 6)).toEqual(["ac", "battery", "battery", null, null, "ac"]);
  });

  test("tells where it stands, with an estimate once there is something to estimate from", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const told: EvalProgress[] = [];
    await run(dir, runner, { onProgress: (progress) => told.push(progress) });
    expect(told[0]).toMatchObject({ phase: "load", done: 0, total: 8 });
    expect(told[1]).toMatchObject({ phase: "cells", done: 0, eta: null });
    expect(told[4]).toMatchObject({ done: 3, eta: { low_s: 15, high_s: 15 } });
    expect(told.at(-1)).toMatchObject({ done: 8, total: 8, current: null });
  });
});

describe("order and caches", () => {
  test("shuffled asks the same cells in another order that the seed alone decides", async () => {
    const orders: string[][] = [];
    for (let i = 0; i < 2; i += 1) {
      const [dir, runner] = [tempDir(), new FakeRunner()];
      await run(dir, runner, { config: config("order: shuffled") });
      orders.push(
        events(dir)
          .filter((event) => event.type === "cell_start")
          .map((event) => String(event["i"])),
      );
      // The file is in the matrix's order all the same.
      expect(readResponses(dir)[0]).toMatchObject({ variant: "none", prompt_id: "a1" });
    }
    expect(orders[0]).toEqual(orders[1]);
    expect(orders[0]?.toSorted()).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    expect(orders[0]).not.toEqual(orders[0]?.toSorted());
  });

  test("cold_cache switches llama-server's prompt cache off", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    await run(dir, runner, { config: config("cold_cache: true") });
    expect(runner.requests.every((request) => request.extra_body["cache_prompt"] === false)).toBe(
      true,
    );
  });

  test("cold_cache begins each text differently, at equal length, where there is no such switch", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    Object.assign(runner.settings, { kind: "ollama" });
    await run(dir, runner, { config: config("cold_cache: true") });
    const starts = runner.requests.map((request) => request.messages[0]?.content.slice(0, 11));
    expect(new Set(starts).size).toBe(8);
    expect(starts.every((start) => /^\[[0-9a-f]{8}\]\n$/.test(start ?? ""))).toBe(true);
  });
});

describe("load", () => {
  test("tells the weights as steady less baseline, and gives each row the first baseline", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const outcome = await run(dir, runner);
    expect(outcome.load).toMatchObject({
      outcome: "ok",
      baseline_used_mb: 1000,
      steady_used_mb: 5000,
      weights_delta_mb: 4000,
      weights_delta_reason: null,
      duration_s: 2,
    });
    expect(readResponses(dir)[0]?.sys_used_baseline_mb).toBe(1000);
  });

  test.each([
    ["fixed", [], /not applicable/],
    ["managed", ["m"], /in memory already/],
    ["unknown", null, /does not say/],
  ] as const)("has no weights figure for a %s runner holding %j", async (residency, held, why) => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    Object.assign(runner, { residency, inMemory: held });
    if (residency === "fixed") {
      runner.loadResult = { outcome: "not_applicable", fault: null, duration_s: 0 };
    }
    const outcome = await run(dir, runner);
    expect(outcome.exit_code).toBe(0);
    expect(outcome.load?.weights_delta_mb).toBeNull();
    expect(outcome.load?.weights_delta_reason).toMatch(why);
    // A baseline with the weights in it is no baseline for the answers either.
    expect(readResponses(dir)[0]?.sys_used_baseline_mb).toBeNull();
  });

  test("gives no weights below zero: something else let go of memory meanwhile", async () => {
    const [dir, runner, probes] = [tempDir(), new FakeRunner(), fakeProbes()];
    probes.baselines = [1000, 930];
    const { load } = await run(dir, runner, { probes });
    expect(load).toMatchObject({ steady_used_mb: 930, weights_delta_mb: null });
    expect(load?.weights_delta_reason).toMatch(/fell by 70 MB/);
  });

  test.each([
    ["loading", 360, 1],
    ["unreachable", 1, 69],
  ] as const)("asks a fixed runner that is %s %i times", async (kind, times, exit_code) => {
    const [dir, runner, clock] = [tempDir(), new FakeRunner(), new FakeClock()];
    runner.residency = "fixed";
    runner.loading = (limit_s) => {
      clock.advance(limit_s * 1000);
      return { outcome: "failed", fault: fault(kind), duration_s: limit_s };
    };
    const outcome = await run(dir, runner, { clock });
    expect(outcome.exit_code).toBe(exit_code);
    expect(outcome.load?.duration_s).toBe(times * 10);
    expect(runner.calls.filter((call) => call === "load")).toHaveLength(times);
  });

  test("load and cells as two runs give what one run gives", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const first = await run(dir, runner, { phase: "load" });
    expect(first).toMatchObject({ exit_code: 0, cells_ok: 0 });
    expect(loadStepFault(dir, 0)).toBeNull();
    expect(eventTypes(dir)).toEqual(["load_start", "load_done"]);
    expect(runner.requests).toHaveLength(0);

    const second = await run(dir, runner, { phase: "cells" });
    expect(second).toMatchObject({ exit_code: 0, cells_ok: 8, load: { weights_delta_mb: 4000 } });
    expect(runner.calls.filter((call) => call === "load")).toHaveLength(1);
    expect(readResponses(dir)[0]?.sys_used_baseline_mb).toBe(1000);
    expect(evalStepFault(dir, 0)).toBeNull();
  });

  test("a load record that is not whole is as good as none", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    writeFileSync(join(dir, "load.json"), '{"outcome": "ok"');
    expect(readLoad(dir)).toBeNull();
    expect(loadStepFault(dir, 0)).toContain("missing");
    expect(await run(dir, runner, { phase: "cells" })).toMatchObject({ exit_code: 0, load: null });
  });
});
