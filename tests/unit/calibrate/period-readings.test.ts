import { expect, test } from "vitest";
import {
  faultText,
  turnOutcome,
  warmPrompts,
  withoutPaths,
} from "../../../src/calibrate/outcome.ts";
import { periodReadings, type PeriodFacts } from "../../../src/calibrate/period-readings.ts";
import type { GenerateResult } from "../../../src/runners/index.ts";
import { readingsSchema } from "../../../src/verdict/index.ts";
import { QUIET_SERVER } from "../../helpers/quiet-readings.ts";
import { answer, counted, failure, QUIET } from "./answers.ts";

const NO_TROUBLE = { loads: 0, truncations: 0, shifts: 0, evictions: 0, device_failures: 0 };

function sent(...results: GenerateResult[]) {
  return results.map((result, at) => ({
    turn: { id: `t${at}`, segment_id: "s" },
    result,
    started_s: at,
    ended_s: at + 1,
  }));
}

function readings(changes: Partial<PeriodFacts>) {
  const result = periodReadings({
    turns: sent(answer()),
    log: { counts: NO_TROUBLE },
    watched: { alone: true, reason: null, busy_slots: null },
    recorded: QUIET,
    context_read: 512,
    known_prompts: new Map(),
    cold: "cache_off",
    loud_evictions: false,
    fixed_model: false,
    ...changes,
  });
  expect(readingsSchema.safeParse(result).error).toBeUndefined();
  return result;
}

const BLIND = { log: { unreadable: "there is no log to read" } } as const;

test("a quiet period breaks nothing, and what the recorder could not read is passed on", () => {
  expect(readings({})).toMatchObject({
    ...QUIET,
    ...QUIET_SERVER,
  });
});

test("each turn is counted once, by what is wrong with it", () => {
  const turns = sent(
    failure("http_error"),
    failure("context_exceeded"),
    failure("prompt_truncated"),
    failure("stream_cut"),
    failure("no_final"),
    answer({ finish_reason: "content_filter" }),
    answer({ finish_reason: "length" }),
    answer({ finish_reason: "tool_calls" }),
  );
  expect(readings({ turns })).toMatchObject({
    failed_turns: 2,
    cut_prompts: 1,
    unfinished_turns: 3,
  });
});

test("what the log says is counted", () => {
  const counts = { loads: 1, truncations: 2, shifts: 3, evictions: 4, device_failures: 5 };
  expect(readings({ log: { counts } })).toMatchObject({
    model_reloads: 1,
    cut_prompts: 2,
    context_shifts: 3,
    evicted_turns: 4,
    failed_turns: 5,
  });
});

test("without a log the counts of tokens tell, as far as they go", () => {
  const nature = { loud_evictions: true, fixed_model: true };
  expect(readings({ ...BLIND, ...nature })).toMatchObject({
    cut_prompts: 0,
    context_shifts: 0,
    evicted_turns: 0,
    model_reloads: 0,
    unavailable: { throttled: "no such file" },
  });
  const full = readings({ ...BLIND, ...nature, turns: sent(counted(500, 13)) });
  expect(full).toMatchObject({ context_shifts: null, cut_prompts: 0 });
  const broken = readings({ ...BLIND, ...nature, turns: sent(failure("runner_error")) });
  expect(broken.evicted_turns).toBeNull();
});

test("what nobody tells is null with its reason, never zero", () => {
  const silent = readings({ ...BLIND, turns: sent(counted(null, null)) });
  for (const name of ["cut_prompts", "context_shifts", "evicted_turns", "model_reloads"] as const) {
    expect(silent[name], name).toBeNull();
    expect(silent.unavailable[name], name).toContain("no log");
  }
  const unknown = { alone: null, reason: "cannot be asked", busy_slots: null };
  expect(readings({ watched: unknown })).toMatchObject({
    alone: null,
    unavailable: { alone: "cannot be asked" },
  });
});

test("a prompt that was longer when it was first read has been cut", () => {
  const known_prompts = new Map<string, number>();
  const look = (tokens: number, cold: PeriodFacts["cold"] = "cache_off") =>
    readings({ known_prompts, cold, turns: sent(counted(tokens, 1)) }).cut_prompts;
  expect(look(100)).toBe(0);
  expect(look(100)).toBe(0);
  expect(look(99)).toBe(1);
  expect(look(97, "nonce")).toBe(0);
  expect(look(90, "nonce")).toBe(1);
});

test("an outcome keeps counts and hashes, and no text", () => {
  const [turn] = sent(answer({ text: "the secret word" }));
  if (turn === undefined) throw new Error("no turn");
  const outcome = turnOutcome(turn);
  expect(outcome).toMatchObject({
    turn_id: "t0",
    ok: true,
    fault: null,
    prompt_tokens: 100,
    output_tokens: 1,
    structural: "text:plain",
  });
  expect(JSON.stringify(outcome)).not.toContain("secret");
});

test.each([
  [
    failure("http_error", "HTTP 500: error parsing tool call: raw='secret'", 500),
    "http_error (HTTP 500)",
  ],
  [failure("runner_error", "secret"), "runner_error"],
  [failure("context_exceeded", "secret", 400), "context_exceeded: longer than the slot's context"],
  [
    failure("stall_timeout", "silent for 5 s in mid-answer"),
    "stall_timeout: silent for 5 s in mid-answer",
  ],
])("a fault's words are ours alone", ({ fault }, text) => {
  expect(fault === null ? "" : faultText(fault)).toBe(text);
});

test("what a slot's context could not hold is told from every other fault", () => {
  const too_long = [
    failure("context_exceeded"),
    failure("prompt_truncated"),
    failure("stall_timeout"),
  ]
    .flatMap((one) => sent(one))
    .map((one) => turnOutcome(one).too_long);
  expect(too_long).toEqual([true, true, undefined]);
});

test.each([
  ["spawn /home/ada/bin/llama-server ENOENT", "spawn ... ENOENT"],
  ["there is no ~/models/a.gguf, nor ./b.gguf", "there is no ..., nor ..."],
  ["127.0.0.1:8080: connection refused", "127.0.0.1:8080: connection refused"],
  ["12 of 20 requests/s", "12 of 20 requests/s"],
])("%s is told without paths", (text, told) => {
  expect(withoutPaths(text)).toBe(told);
});

test("warm prompts are said", () => {
  const [warm] = sent(answer({ usage: { ...answer().usage, cached_tokens: 80 } }));
  if (warm === undefined) throw new Error("no turn");
  expect(warmPrompts([turnOutcome(warm)], "nonce")).toContain("80 of 100");
  expect(
    warmPrompts(
      sent(answer(), counted(5, 1)).map((one) => turnOutcome(one)),
      "cache_off",
    ),
  ).toBeNull();
});
