import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJsonLines } from "../../../src/core/files.ts";
import { modelSpecSchema } from "../../../src/core/model-spec.ts";
import { parseEvalConfig } from "../../../src/eval/config.ts";
import {
  bundleState,
  evalStepFault,
  loadStepFault,
  readLoad,
  readManifest,
  readResponses,
  type EvalProgress,
} from "../../../src/eval/index.ts";
import { parsePack } from "../../../src/eval/pack-file.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { answer, evalOptions, failed, FakeRunner, fakeProbes, fault, PACK, run } from "./fakes.ts";

type EventRow = { type: string; ts: number } & Record<string, unknown>;

function events(dir: string): EventRow[] {
  return readJsonLines(join(dir, "events.jsonl")) as EventRow[];
}

function eventTypes(dir: string): string[] {
  return events(dir).map((event) => event.type);
}

function config(text: string) {
  return parseEvalConfig(text, "config.yaml").config;
}

/** Fails the prompt `text` with `result` until `healed` says true. */
function failingFor(text: string, kind: Parameters<typeof failed>[0], healed = () => false) {
  return (request: { messages: readonly { content: string }[] }) =>
    request.messages.at(-1)?.content === text && !healed() ? failed(kind, "half an") : answer();
}

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

describe("failures", () => {
  test("a curable failure keeps its partial text, does not stop the run and is no whole bundle", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = failingFor("Say more.", "stream_cut");
    const outcome = await run(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 1, cells_ok: 6, cells_failed: 2 });
    expect(outcome.error).toContain("2 of 8 cells failed");
    expect(readResponses(dir)[3]).toMatchObject({
      ok: false,
      response_text: "half an",
      error: "stream_cut: said the fake",
      fault: { class: "stream_cut", retryable: true },
    });
    expect(bundleState(dir)).toMatchObject({ state: "finished", cells_failed: 2 });
    expect(evalStepFault(dir, 0)).toMatch(/bundle finished/);
    // One request a cell: nothing was tried again inside the run.
    expect(runner.requests).toHaveLength(8);
  });

  test("resume asks failed cells again and the new row replaces the old one", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    let healed = false;
    runner.reply = failingFor("Say more.", "stream_cut", () => healed);
    await run(dir, runner);
    healed = true;
    runner.requests = [];
    const outcome = await run(dir, runner, { resume: true });
    expect(runner.requests).toHaveLength(2);
    expect(outcome).toMatchObject({ exit_code: 0, cells_ok: 8, cells_failed: 0 });
    expect(readJsonLines(join(dir, "responses.jsonl"))).toHaveLength(8);
    expect(new Set(readResponses(dir).map((r) => r.invocation)).size).toBe(2);
    expect(bundleState(dir).state).toBe("whole");
    expect(eventTypes(dir).filter((type) => type === "run_done")).toHaveLength(2);
  });

  test("an error that would come again counts as done", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = failingFor("Say more.", "context_exceeded");
    expect(await run(dir, runner)).toMatchObject({ exit_code: 0, cells_ok: 6, cells_failed: 2 });
    expect(bundleState(dir).state).toBe("whole");
    runner.requests = [];
    expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 0 });
    expect(runner.requests).toHaveLength(0);
  });

  test("the breaker opens after three curable failures in a row", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = (_request, n) => (n < 2 ? answer() : failed("unreachable"));
    const outcome = await run(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 69, cells_ok: 2, cells_failed: 3 });
    expect(outcome.breaker).toContain("3 failures in a row, the last one unreachable");
    expect(runner.requests).toHaveLength(5);
    expect(eventTypes(dir).slice(-2)).toEqual(["breaker", "run_failed"]);
    expect(bundleState(dir).state).toBe("started");
    expect(existsSync(join(dir, "perf.csv"))).toBe(false);
  });

  test("answers and incurable errors close the breaker's count; 0 switches it off", async () => {
    const turns = ["unreachable", "unreachable", "context_exceeded", "unreachable", null] as const;
    const reply: FakeRunner["reply"] = (_request, n) => {
      const kind = turns[n % turns.length] ?? null;
      return kind === null ? answer() : failed(kind);
    };
    const first = new FakeRunner();
    first.reply = reply;
    expect((await run(tempDir(), first)).breaker).toBeNull();

    const second = new FakeRunner();
    second.reply = () => failed("unreachable");
    const outcome = await run(tempDir(), second, {
      config: config("breaker: { consecutive_failures: 0 }"),
    });
    expect(outcome).toMatchObject({ exit_code: 1, cells_failed: 8, breaker: null });
  });

  test("a model that is not served fails every cell without a request, and says so", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.modelFault = fault("model_not_found", "m is not here");
    const outcome = await run(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 1, cells_failed: 8, cells_ok: 0 });
    expect(outcome.error).toContain("no retry changes that (model_not_found: m is not here)");
    expect(runner.requests).toHaveLength(0);
    expect(readResponses(dir)[0]).toMatchObject({ ttft_s: null, e2e_s: null, ok: false });
    expect(bundleState(dir).state).toBe("finished");
    // Once it is served the same bundle can be finished.
    runner.modelFault = null;
    expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 0, cells_ok: 8 });
  });

  test("a load that finds no such model ends in the same rows", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.modelFault = fault("model_not_found");
    runner.loadResult = { outcome: "failed", fault: fault("model_not_found"), duration_s: 0 };
    expect(await run(dir, runner)).toMatchObject({ exit_code: 1, cells_failed: 8 });
  });

  test.each([
    ["unreachable", 69],
    ["http_error", 1],
  ] as const)("a load that fails as %s ends the run with %i", async (kind, exit_code) => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.loadResult = { outcome: "failed", fault: fault(kind), duration_s: 1 };
    const probes = fakeProbes();
    const outcome = await run(dir, runner, { probes });
    expect(outcome).toMatchObject({ exit_code, cells_ok: 0 });
    expect(outcome.error).toContain("could not be loaded");
    expect(runner.requests).toHaveLength(0);
    expect(probes.stopped).toBe(probes.started);
    expect(loadStepFault(dir, 0)).toContain(kind);
    expect(eventTypes(dir)).toEqual(["load_start", "load_done", "run_failed"]);
  });

  test("no sampler means unknown resources, not healthy ones", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const probes = fakeProbes();
    probes.startSampler = async () => {
      throw new Error("cannot start");
    };
    expect(await run(dir, runner, { probes })).toMatchObject({ exit_code: 0 });
    expect(readResponses(dir)[0]).toMatchObject({
      sys_used_mb: null,
      mem_pressure_max: null,
      throttled: null,
      swap_delta_mb: null,
    });
    expect(eventTypes(dir)).toContain("warning");
  });
});

describe("stopping", () => {
  test("a stop in mid-request leaves a resumable bundle and no row for that request", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const stop = new AbortController();
    runner.reply = (_request, n) => {
      if (n < 3) return answer();
      stop.abort();
      return failed("cancelled", "half");
    };
    const probes = fakeProbes();
    const outcome = await run(dir, runner, { signal: stop.signal, probes });
    expect(outcome).toMatchObject({ exit_code: 1, cells_ok: 3, cells_failed: 0 });
    expect(bundleState(dir).state).toBe("started");
    expect(eventTypes(dir).at(-1)).toBe("run_failed");
    expect(probes.stopped).toBe(probes.started);

    runner.reply = () => answer();
    expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 0, cells_ok: 8 });
    expect(runner.requests).toHaveLength(9);
  });

  test("a stop between two requests asks nothing more", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const stop = new AbortController();
    runner.reply = () => {
      stop.abort();
      return answer();
    };
    expect(await run(dir, runner, { signal: stop.signal })).toMatchObject({
      exit_code: 1,
      cells_ok: 1,
    });
    expect(runner.requests).toHaveLength(1);
  });

  test("half a line that a killed run left behind is cut and its cell asked again", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = (_request, n) => (n < 2 ? answer() : failed("unreachable"));
    await run(dir, runner);
    appendFileSync(join(dir, "responses.jsonl"), '{"model":"m","variant":"no');
    runner.reply = () => answer();
    expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 0, cells_ok: 8 });
  });

  test("a disk that is full stops the run with what was written still readable", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const probes = fakeProbes();
    let looks = 0;
    // The fault of a write, raised where a test can reach it: just before the third row.
    probes.readPower = async () => {
      looks += 1;
      if (looks === 4) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      return { source: "ac", reason: null };
    };
    await expect(run(dir, runner, { probes })).rejects.toMatchObject({
      code: "disk_full",
      hint: expect.stringContaining("--resume") as string,
    });
    expect(readResponses(dir)).toHaveLength(2);
    expect(bundleState(dir).state).toBe("started");
    expect(probes.stopped).toBe(probes.started);
    expect(eventTypes(dir).at(-1)).toBe("run_failed");
  });

  test("too little free disk is refused before anything is written", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    await expect(run(dir, runner, { min_free_disk_mb: 1e12 })).rejects.toMatchObject({
      code: "disk_full",
    });
    expect(existsSync(join(dir, "manifest.json"))).toBe(false);
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
    if (residency === "fixed") {
      expect(readResponses(dir)[0]?.sys_used_baseline_mb).toBeNull();
    }
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

describe("what a bundle refuses", () => {
  async function begun() {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = (_request, n) => (n < 2 ? answer() : failed("unreachable"));
    await run(dir, runner);
    return { dir, runner };
  }

  test("a second run without --resume", async () => {
    const { dir, runner } = await begun();
    await expect(run(dir, runner)).rejects.toMatchObject({ code: "bundle_exists" });
  });

  test.each([
    ["model", { model: modelSpecSchema.parse({ id: "m", extra_body: { think: true } }) }],
    ["pack", { pack: parsePack(`${PACK}\n# edited\n`, "pack.yaml") }],
    ["cold_cache", { config: config("cold_cache: true") }],
  ])("another %s", async (what, changes) => {
    const { dir, runner } = await begun();
    await expect(run(dir, runner, { resume: true, ...changes })).rejects.toMatchObject({
      code: "manifest_mismatch",
      message: expect.stringContaining(`${what}: the bundle has`) as string,
    });
  });

  test("another runner, another version of it, other weights under the same name", async () => {
    const { dir, runner } = await begun();
    const other = new FakeRunner();
    Object.assign(other.settings, { name: "other", kind: "ollama" });
    other.statusNow = {
      ...runner.statusNow,
      version: "2.0",
      models: (runner.statusNow.models ?? []).map((model) => ({ ...model, digest: "def" })),
    };
    const refused: unknown = await run(dir, other, { resume: true }).catch(
      (error: unknown) => error,
    );
    const { message } = refused as Error;
    for (const part of ["runner name", "runner kind", "runner version", "model digest"]) {
      expect(message).toContain(`${part}: the bundle has`);
    }
  });

  test("a pack copy that was edited, answers without a manifest", async () => {
    const { dir, runner } = await begun();
    appendFileSync(join(dir, "pack.yaml"), "# hm\n");
    await expect(run(dir, runner, { resume: true })).rejects.toThrow(/pack.yaml in the bundle/);
    rmSync(join(dir, "manifest.json"));
    await expect(run(dir, runner, { resume: true })).rejects.toMatchObject({ code: "no_manifest" });
  });

  test("a runner that cannot be asked proves no difference; other limits are no other thing", async () => {
    const { dir, runner } = await begun();
    runner.statusNow = { ...runner.statusNow, version: null, models: null };
    runner.reply = () => answer();
    const outcome = await run(dir, runner, {
      resume: true,
      config: config("request_limits: { stall_s: 9 }"),
    });
    expect(outcome.exit_code).toBe(0);
    expect(runner.requests.at(-1)?.limits.stall_s).toBe(9);
  });
});

test("a resumed run takes the mark of a finished bundle away first", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  runner.reply = failingFor("Say more.", "stream_cut");
  await run(dir, runner);
  expect(existsSync(join(dir, "bundle.json"))).toBe(true);
  runner.reply = () => {
    expect(existsSync(join(dir, "bundle.json"))).toBe(false);
    return answer();
  };
  await run(dir, runner, { resume: true });
  expect(existsSync(join(dir, "bundle.json"))).toBe(true);
});

test("progress lines come from the runner, at most one in 30 s", async () => {
  const [dir, runner, clock] = [tempDir(), new FakeRunner(), new FakeClock()];
  runner.reply = (request, n) => {
    if (n > 0) return answer();
    for (let second = 0; second < 100; second += 5) {
      clock.advance(5000);
      request.onProgress?.({ bytes: second, phase: "prefill", prompt_share: second / 100 });
    }
    // Silence: nothing may be written for it.
    clock.advance(300_000);
    return answer();
  };
  await run(dir, runner, { clock });
  const progress = events(dir).filter((event) => event.type === "progress");
  expect(progress.map((event) => event["bytes"])).toEqual([25, 55, 85]);
  expect(progress[0]).toMatchObject({ model: "m", prompt_id: "a1", repeat: 0, phase: "prefill" });
});

test("resources of earlier invocations are joined as well", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  let at_s = 1000;
  const timed = () => {
    at_s += 100;
    const ts = at_s + 1;
    appendFileSync(
      join(dir, "resources.jsonl"),
      `${JSON.stringify({ ts, sys_used_mb: at_s, swap_used_mb: 0, throttled: false })}\n`,
    );
    return answer({
      timing: { ...answer().timing, started_at_ms: at_s * 1000, ended_at_ms: at_s * 1000 + 3000 },
    });
  };
  runner.reply = (_request, n) => (n < 2 ? timed() : failed("unreachable"));
  await run(dir, runner);
  runner.reply = timed;
  await run(dir, runner, { resume: true });
  expect(readResponses(dir).map((r) => r.sys_used_mb)).toEqual([
    1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800,
  ]);
  expect(readResponses(dir)[0]).toMatchObject({ sys_used_delta_mb: 100, throttled: false });
});

test("bundle.json has the keys that existing readers look for", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  await run(dir, runner, {
    model: modelSpecSchema.parse({ id: "m", quant: "Q8", extra_body: { a: 1 } }),
  });
  const bundle: unknown = JSON.parse(readFileSync(join(dir, "bundle.json"), "utf8"));
  expect(bundle).toMatchObject({
    pack_id: "p",
    pack_version: 3,
    pack_path: "pack.yaml",
    models: [{ id: "m", quant: "Q8", extra_body: { a: 1 } }],
    variants: ["none", "terse"],
    host: { chip: "Test Chip", ram_gb: "16.0 GB" },
    sampling: { temperature: 0.5, seed: 7 },
    complete: true,
  });
  expect(Object.keys((bundle as { files: object }).files)).toContain("responses.jsonl");
});

test("a changed file or an old one is no whole bundle of this step", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  expect(bundleState(dir).state).toBe("absent");
  await run(dir, runner);
  expect(evalStepFault(dir, Date.now() + 60_000)).toContain("older");
  expect(loadStepFault(dir, Date.now() + 60_000)).toContain("older");
  appendFileSync(join(dir, "responses.jsonl"), "{}\n");
  expect(bundleState(dir)).toMatchObject({
    state: "damaged",
    reason: "responses.jsonl is not what was recorded",
  });
  rmSync(join(dir, "responses.jsonl"));
  expect(bundleState(dir).reason).toBe("responses.jsonl is gone");
  writeFileSync(join(dir, "bundle.json"), "{");
  expect(bundleState(dir).state).toBe("damaged");
});

test("the bundle's directory is made where it is not there", async () => {
  const dir = join(tempDir(), "a", "b");
  mkdirSync(join(dir, ".."), { recursive: true });
  expect((await run(dir, new FakeRunner())).exit_code).toBe(0);
  expect(evalOptions(dir, new FakeRunner()).bundle_dir).toBe(dir);
});
