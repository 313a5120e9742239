import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jobLimitsSchema } from "../../../src/core/job-settings.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import { checkQueue } from "../../../src/steps/check.ts";
import type { GenerateResult, Runner } from "../../../src/runners/index.ts";
import type { Rooms } from "../../../src/steps/rooms.ts";
import { world, type World } from "./world.ts";

const ANSWER: GenerateResult = {
  ok: true,
  fault: null,
  text: "Wednesday",
  reasoning_text: "",
  tool_calls: [],
  finish_reason: "stop",
  answered_model: null,
  timing: {
    started_at_ms: 0,
    ended_at_ms: 0,
    first_byte_s: 0.1,
    first_reasoning_s: null,
    last_reasoning_s: null,
    first_content_s: 0.2,
    e2e_s: 0.3,
  },
  usage: { prompt_tokens: 1, completion_tokens: 1, reasoning_tokens: null, cached_tokens: null },
  server_timing: { load_s: null, prompt_s: null, decode_s: null, queue_s: null },
};

const entry = (model: unknown, more: Record<string, unknown> = {}) => ({
  model,
  pack: "p",
  runner: "a",
  ...more,
});

/** Checks what was written, with a runner whose methods a test may replace. */
async function check(w: World, change: Partial<Runner> = {}) {
  const rooms = w.rooms();
  const path = (named: string) => join(w.dir, named);
  const connected: Rooms = {
    ...rooms,
    connect: (settings) => ({
      ...rooms.connect(settings),
      generate: async () => ANSWER,
      ...change,
    }),
  };
  return checkQueue({
    file: path("night.json"),
    runs_dir: path("runs"),
    lock_wait_s: 0,
    context: {
      policy_defaults: { settle: { timeout_s: 10 } },
      limits: jobLimitsSchema.parse({}),
      runner_names: ["a", "b"],
      allowed_reset_commands: [],
    },
    rooms: connected,
    loaders: {
      confine: path,
      pack: (file) => ({ sha256: hash(file), id: "pack" }),
      config: (file) => ({ sha256: hash(file), runner: null, warnings: [] }),
      judge_config: (file) => ({ sha256: hash(file), warnings: [] }),
    },
    signal: w.stop.signal,
  });
}

function hash(file: string): string {
  return sha256Hex(readFileSync(file));
}

test("each model spec on each runner once, and the judge that is not tested itself", async () => {
  const w = world();
  w.write([
    entry("x", { judge_config: "j" }),
    entry("x", { cooldown_s: 1, judge_config: "j", judge_model: "other" }),
    entry({ id: "x", extra_body: { think: false } }),
    entry("x", { runner: "b" }),
  ]);
  const report = await check(w);
  expect(report.exit_code).toBe(0);
  expect(report.rows.map(({ model, role, runner }) => [model, role, runner])).toEqual([
    ["x", "model", "a"],
    ["x", "model", "a"],
    ["x", "model", "b"],
    ["judge", "judge", "a"],
  ]);
  expect(report.rows[0]).toMatchObject({ ok: true, evicted: true, first_token_s: 0.2 });
  expect(w.log.at(-1)).toBe("unlock");
});

test("a reset that does not evict fails the check", async () => {
  const w = world();
  w.write([entry("x")]);
  const report = await check(w, { loaded: async () => ({ models: ["x"], reason: null }) });
  expect(report.exit_code).toBe(1);
  expect(report.rows[0]).toMatchObject({ ok: false, status: "ok", evicted: false });
  expect(report.rows[0]?.error).toBe("reset did not evict: still loaded: x");
  expect(readFileSync(join(report.directory, "check.md"), "utf8")).toContain("| NO");
});

test("a dead endpoint is given up in half a minute, with what to do, and loads nothing", async () => {
  const w = world();
  w.write([entry("x")]);
  const status = { reachable: false, reason: "refused", loading: false };
  const begun_ms = w.clock.monotonic_ms();
  const report = await check(w, {
    status: async () => ({
      ...status,
      version: null,
      slots: null,
      slots_source: null,
      models: null,
    }),
    load: () => Promise.reject(new Error("loaded although nobody answers")),
  });
  expect(report.rows[0]).toMatchObject({ ok: false, loaded: false });
  expect(report.rows[0]?.error).toMatch(/endpoint dead: .*refused \(Start it/);
  expect(w.clock.monotonic_ms() - begun_ms).toBeLessThan(60_000);
});

test.each([
  [{ text: "", reasoning_text: "hm" }, "reasoning_only", /reasoning_headroom_tokens/],
  [{ text: " ", reasoning_text: "" }, "empty", /empty/],
] as const)("an answer of %j is %s", async (change, status, error) => {
  const w = world();
  w.write([entry("x")]);
  const report = await check(w, { generate: async () => ({ ...ANSWER, ...change }) });
  expect(report.rows[0]).toMatchObject({ ok: false, loaded: true, status });
  expect(report.rows[0]?.error).toMatch(error);
});

test("a model that does not load is one row, and the next is still tried", async () => {
  const w = world();
  w.write([entry("x"), entry("y")]);
  const report = await check(w, {
    load: async (model) => ({
      outcome: model === "x" ? "failed" : "ok",
      fault:
        model === "x"
          ? { class: "model_not_found", message: "no x", retryable: false, http_status: null }
          : null,
      duration_s: 1,
    }),
  });
  expect(report.rows.map((one) => [one.ok, one.loaded, one.error])).toEqual([
    [false, false, "no x"],
    [true, true, null],
  ]);
});

test("of a fixed runner, eviction does not apply", async () => {
  const w = world();
  w.residency = "fixed";
  w.write([entry("x")]);
  const [one] = (await check(w)).rows;
  expect(one).toMatchObject({ ok: true, evicted: null });
  expect(one?.eviction_reason).toContain("not applicable");
});

test("room for thinking: 512 tokens and the model's own headroom", async () => {
  const w = world();
  w.write([entry({ id: "x", reasoning_headroom_tokens: 1000 })]);
  const asked: (number | null)[] = [];
  await check(w, {
    generate: async ({ max_tokens }) => {
      asked.push(max_tokens);
      return ANSWER;
    },
  });
  expect(asked).toEqual([1512]);
});
