import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJsonLines } from "../../../src/core/files.ts";
import {
  bundleState,
  evalStepFault,
  loadStepFault,
  readResponses,
} from "../../../src/eval/index.ts";
import type { Fault } from "../../../src/runners/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import {
  answer,
  config,
  eventTypes,
  failed,
  failingFor,
  FakeRunner,
  fakeProbes,
  fault,
  run,
} from "./fakes.ts";

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

  test.each([
    ["http_error", 401],
    ["http_error", 302],
    ["http_error", 204],
    ["http_error", 404],
    ["bad_response", 200],
    ["wrong_model", 200],
  ] as const)(
    "%s %i lies in the endpoint: it opens the breaker and is asked again",
    async (kind, status) => {
      const [dir, runner] = [tempDir(), new FakeRunner()];
      const refusal: Fault = { ...fault(kind), retryable: false, http_status: status };
      runner.reply = () => answer({ ok: false, fault: refusal, text: "", finish_reason: null });
      const outcome = await run(dir, runner);
      expect(outcome).toMatchObject({ exit_code: 69, cells_ok: 0, cells_failed: 3 });
      expect(bundleState(dir).state).toBe("started");
      runner.reply = () => answer();
      expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 0, cells_ok: 8 });
    },
  );

  test("a bundle without one answer is not whole, however deterministic its errors", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    runner.reply = () => failed("context_exceeded");
    const outcome = await run(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 1, cells_ok: 0, cells_failed: 8 });
    expect(outcome.error).toBe(
      "no cell has an answer, the last one context_exceeded: said the fake",
    );
    expect(bundleState(dir).state).toBe("finished");
    expect(await run(dir, runner, { resume: true })).toMatchObject({ exit_code: 1 });
  });

  test("a refusal of the very request counts as done", async () => {
    const [dir, runner] = [tempDir(), new FakeRunner()];
    const refusal: Fault = { ...fault("http_error"), retryable: false, http_status: 400 };
    runner.reply = (_request, n) =>
      n === 0 ? answer({ ok: false, fault: refusal, text: "" }) : answer();
    expect(await run(dir, runner)).toMatchObject({ exit_code: 0, cells_ok: 7, cells_failed: 1 });
    expect(bundleState(dir).state).toBe("whole");
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
