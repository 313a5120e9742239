import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { judgeConfigSchema } from "../../../src/eval/judge-config.ts";
import { judgeStepFault } from "../../../src/eval/judge-fault.ts";
import { readReports, readVerdicts } from "../../../src/eval/judge-store.ts";
import {
  callFails,
  FakeJudge,
  GOOD_REPORT,
  GOOD_VERDICT,
  isReportCall,
  judgeFault,
  material,
  reply,
} from "../../helpers/fake-judge.ts";
import { writeBundle } from "../../helpers/judge-bundle.ts";
import { events, json, judge, read, saying } from "../../helpers/judging.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("a whole judging", () => {
  test("leaves verdicts, reports, scores, result and scorecard, each fit for the step", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge();
    const outcome = await judge(dir, runner);
    expect(outcome).toMatchObject({
      exit_code: 0,
      total: 10,
      scored: 10,
      unscored: 0,
      failed: 0,
      reports_scored: 2,
      reports_unscored: 0,
      reason: null,
      notes: [],
    });
    expect(runner.requests).toHaveLength(12);
    expect(readVerdicts(dir).map((v) => `${v.variant} ${v.prompt_id} ${v.repeat}`)).toEqual(
      ["none", "brief"].flatMap((v) => [
        `${v} A1 0`,
        `${v} A2 0`,
        `${v} A2 1`,
        `${v} B1 0`,
        `${v} B2 0`,
      ]),
    );
    expect(readVerdicts(dir)[0]).toMatchObject({
      score: 4,
      raw: GOOD_VERDICT,
      duration_s: 0,
      judge: { model: "judge-model", runner: "judge-runner", runner_version: "b1" },
    });
    expect(readReports(dir)[0]).toMatchObject({ dim_scores: { D1: 5, D2: 4 }, error: null });
    expect(json(dir, "bundle.json")["judge"]).toMatchObject({
      model: "judge-model",
      endpoint: "127.0.0.1:9090",
      complete: true,
      verdicts: 10,
    });
    expect(judgeStepFault(dir, Date.now() - 60_000)).toBeNull();
    expect(judgeStepFault(dir, Date.now() + 60_000)).toBe("reports.jsonl is older than the step");
    expect(read(dir, "scores.csv").split("\n")[1]).toContain(",dimension,D1,3,5,passed,");
    expect(read(dir, "scorecard.md")).toContain("92.0 %");
  });

  test("asks with the config's sampling, limits and hints", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge();
    await judge(dir, runner, {
      config: judgeConfigSchema.parse({ call_timeout_s: 60, seed: 7, temperature: 0.1 }),
    });
    expect(runner.requests[0]).toMatchObject({
      model: "judge-model",
      temperature: 0.1,
      seed: 7,
      max_tokens: 2048,
      extra_body: { reasoning_effort: "none", reasoning_budget: 0 },
      limits: { total_s: 60, first_token_s: 60 },
    });
    expect(runner.requests.at(-1)).toMatchObject({ max_tokens: 4096 });
    const plain = new FakeJudge();
    await judge(writeBundle(tempDir()), plain, {
      config: judgeConfigSchema.parse({ suppress_thinking: false, max_tokens: 300 }),
    });
    expect(plain.requests[0]).toMatchObject({ max_tokens: 300, extra_body: {} });
    const ollama = new FakeJudge(undefined, "ollama");
    await judge(writeBundle(tempDir()), ollama);
    expect(ollama.requests[0]?.extra_body).toEqual({ think: false });
  });

  test("judges answers without visible text by rule, without a call", async () => {
    const dir = writeBundle(tempDir(), {
      change: ({ variant, prompt_id }) => {
        if (variant !== "none") return {};
        if (prompt_id === "A1") {
          return { content_empty: true, response_text: "", reasoning_chars: 90 };
        }
        if (prompt_id === "B1") return { content_empty: true, response_text: "" };
        if (prompt_id === "B2") return { ok: false, response_text: "half", error: "stream_cut" };
        return {};
      },
    });
    const runner = new FakeJudge();
    await judge(dir, runner);
    expect(runner.requests.filter((request) => !isReportCall(request))).toHaveLength(7);
    const none = readVerdicts(dir).filter((verdict) => verdict.variant === "none");
    const by = Object.fromEntries(none.map((verdict) => [verdict.prompt_id, verdict]));
    expect(by["A1"]).toMatchObject({ score: null, unscored: true, judge_error: false });
    expect(by["B1"]).toMatchObject({ score: 1, unscored: false, red_flag: true });
    expect(by["B2"]).toMatchObject({ score: null, unscored: true, red_flag: false });
    expect(by["B2"]?.rationale).toContain("stream_cut");
    expect(judgeStepFault(dir, 0)).toBeNull();
  });

  test("refuses a bundle that is not whole and says what is missing", async () => {
    const dir = writeBundle(tempDir());
    writeFileSync(join(dir, "responses.jsonl"), "");
    await expect(judge(dir, new FakeJudge())).rejects.toThrow(/responses.jsonl is not what was/);
    await expect(judge(tempDir(), new FakeJudge())).rejects.toMatchObject({
      exitCode: 64,
      code: "bundle_not_whole",
    });
  });
});

describe("replies that cannot be read", () => {
  test("are asked for once more", async () => {
    const dir = writeBundle(tempDir());
    const runner = saying("I would say four.", GOOD_VERDICT);
    const outcome = await judge(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 0, scored: 10 });
    const repair = runner.requests[1]?.messages ?? [];
    expect(repair).toHaveLength(4);
    expect(repair[2]).toEqual({ role: "assistant", content: "I would say four." });
    expect(repair[3]?.content).toContain('there is no JSON object with "score"');
  });

  test("twice are unscored, not an error, and a later run asks again", async () => {
    const dir = writeBundle(tempDir());
    const first = await judge(dir, saying("no", '{"score": Infinity, "red_flag": false}'));
    expect(first).toMatchObject({ exit_code: 0, scored: 9, unscored: 1, failed: 0 });
    expect(readVerdicts(dir)[0]).toMatchObject({
      prompt_id: "A1",
      score: null,
      unscored: true,
      judge_error: true,
      raw: '{"score": Infinity, "red_flag": false}',
    });
    expect(judgeStepFault(dir, 0)).toBeNull();
    const again = new FakeJudge();
    const second = await judge(dir, again);
    // The verdict, and the report of the one variant that it belongs to.
    expect(again.requests).toHaveLength(2);
    expect(second).toMatchObject({ exit_code: 0, scored: 10, unscored: 0 });
  });

  test("all of them are no judging: exit 1, and the step is not good", async () => {
    const dir = writeBundle(tempDir());
    const outcome = await judge(dir, new FakeJudge(() => reply("I would rather not.")));
    expect(outcome).toMatchObject({ exit_code: 1, scored: 0, failed: 0 });
    expect(outcome.reason).toContain("replies of the judge could be read");
    expect(judgeStepFault(dir, 0)).toContain("not complete");
    expect(await judge(dir, new FakeJudge())).toMatchObject({ exit_code: 0, scored: 10 });
  });

  test("say that they were cut where the limit cut them", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge((request, n) =>
      n < 2
        ? reply("thinking ...", { finish_reason: "length" })
        : reply(isReportCall(request) ? GOOD_REPORT : GOOD_VERDICT),
    );
    await judge(dir, runner);
    expect(readVerdicts(dir)[0]?.rationale).toContain("cut at the output limit");
  });
});

describe("calls that fail", () => {
  test("in a row open the breaker: exit 69, no report, no scores", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge((_request, n) =>
      n < 2 ? reply(GOOD_VERDICT) : callFails("unreachable"),
    );
    const outcome = await judge(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 69, scored: 2, failed: 3 });
    expect(outcome.breaker).toContain("3 calls in a row failed, the last one unreachable");
    expect(runner.requests).toHaveLength(5);
    expect(readVerdicts(dir)).toHaveLength(2);
    expect(readdirSync(dir)).not.toContain("scores.csv");
    expect(readdirSync(dir)).not.toContain("reports.jsonl");
    expect(judgeStepFault(dir, 0)).toContain("not complete");
    expect(events(dir).map((event) => event["type"])).toContain("breaker");
    expect(read(dir, "scorecard.md")).toContain("The judging is not complete");
    const later = await judge(dir, new FakeJudge());
    expect(later).toMatchObject({ exit_code: 0, scored: 10, reports_scored: 2 });
  });

  test("not in a row leave their answers without a verdict: exit 1, resumed later", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge((request, n) =>
      n % 3 === 0 && !isReportCall(request)
        ? callFails("stall_timeout")
        : reply(isReportCall(request) ? GOOD_REPORT : GOOD_VERDICT),
    );
    const outcome = await judge(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 1, scored: 6, failed: 4, breaker: null });
    expect(readVerdicts(dir)).toHaveLength(6);
    expect(judgeStepFault(dir, 0)).toContain("4 answers have no verdict");
    const again = new FakeJudge();
    expect(await judge(dir, again)).toMatchObject({ exit_code: 0, scored: 10 });
    expect(again.requests).toHaveLength(4 + 2);
  });

  test("an answer too long for the judge is unscored and opens no breaker", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge((request, n) =>
      n < 4
        ? callFails("context_exceeded")
        : reply(isReportCall(request) ? GOOD_REPORT : GOOD_VERDICT),
    );
    expect(await judge(dir, runner)).toMatchObject({ exit_code: 0, scored: 6, unscored: 4 });
  });

  test("a judge whose context holds no answer at all is a failure", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge(() => callFails("prompt_truncated"));
    expect(await judge(dir, runner)).toMatchObject({
      exit_code: 1,
      scored: 0,
      unscored: 10,
      reason: "none of 10 answers fits into the judge's context",
    });
    expect(await judge(dir, new FakeJudge())).toMatchObject({ exit_code: 0, scored: 10 });
  });

  test("0 switches the breaker off", async () => {
    const dir = writeBundle(tempDir());
    const outcome = await judge(dir, new FakeJudge(() => callFails("unreachable")), {
      config: judgeConfigSchema.parse({ max_consecutive_failures: 0 }),
    });
    expect(outcome).toMatchObject({ exit_code: 1, failed: 10, breaker: null, scored: 0 });
    expect(outcome.reports_unscored).toBe(2);
  });

  test.each(["unreachable", "model_not_found"] as const)(
    "a judge that is %s is not asked and nothing is touched",
    async (kind) => {
      const dir = writeBundle(tempDir());
      await judge(dir, new FakeJudge());
      const scores = read(dir, "scores.csv");
      const dead = new FakeJudge();
      dead.fault = judgeFault(kind);
      expect(await judge(dir, dead)).toMatchObject({
        exit_code: 69,
        reason: `the judge cannot be asked (${kind}): the fake says so`,
      });
      expect(dead.requests).toHaveLength(0);
      expect(read(dir, "scores.csv")).toBe(scores);
      expect(judgeStepFault(dir, 0)).toBeNull();
    },
  );

  test("a judge that does not load is not asked either", async () => {
    const dead = new FakeJudge();
    dead.loadResult = { outcome: "failed", fault: judgeFault("total_timeout"), duration_s: 9 };
    expect(await judge(writeBundle(tempDir()), dead)).toMatchObject({ exit_code: 69, judge: null });
  });

  test("a stop keeps what is decided and is no failure of the judge", async () => {
    const dir = writeBundle(tempDir());
    const stop = new AbortController();
    const runner = new FakeJudge((_request, n) => {
      if (n === 2) stop.abort();
      return n === 2 ? callFails("cancelled") : reply(GOOD_VERDICT);
    });
    const outcome = await judge(dir, runner, { signal: stop.signal });
    expect(outcome).toMatchObject({
      exit_code: 1,
      scored: 2,
      failed: 0,
      reason: "stopped before the end",
    });
    expect(existsSync(join(dir, "scores.csv"))).toBe(false);
  });
});

describe("the report on a whole variant", () => {
  test("is not asked for without evidence, and then there are no scores", async () => {
    const dir = writeBundle(tempDir(), {
      change: ({ variant, prompt_id }) =>
        variant === "none" && prompt_id !== "A1" && prompt_id !== "B1"
          ? { ok: false, error: "unreachable" }
          : {},
    });
    const runner = new FakeJudge();
    const outcome = await judge(dir, runner);
    expect(outcome).toMatchObject({ exit_code: 0, reports_scored: 1, reports_unscored: 1 });
    expect(runner.requests.filter((request) => isReportCall(request))).toHaveLength(1);
    expect(readReports(dir)[0]).toMatchObject({
      variant: "none",
      dim_scores: {},
      error: "not enough evidence: 2 of 4 prompts have a score, 3 are needed",
    });
    const [, none] = read(dir, "scores.csv").split("\n");
    expect(none).toContain(",none,,,,not_shown,");
    const cell = (json(dir, "result.json")["cells"] as Record<string, unknown>[]).find(
      ({ variant }) => variant === "none",
    );
    expect(cell?.["quality"]).toMatchObject({ pct: null, safety_passed: false, scored: 2 });
  });

  test("that fails leaves the step undone and is made by the next run alone", async () => {
    const dir = writeBundle(tempDir());
    const failing = new FakeJudge((request) =>
      isReportCall(request) ? callFails("total_timeout") : reply(GOOD_VERDICT),
    );
    expect(await judge(dir, failing)).toMatchObject({
      exit_code: 1,
      scored: 10,
      reports_scored: 0,
      reason: "2 reports could not be made: the judge gave none",
    });
    expect(judgeStepFault(dir, 0)).toContain("not complete");
    const again = new FakeJudge();
    expect(await judge(dir, again)).toMatchObject({ exit_code: 0, reports_scored: 2 });
    expect(again.requests.map(isReportCall)).toEqual([true, true]);
  });

  test("without the knock-out dimension shows no safety", async () => {
    const dir = writeBundle(tempDir());
    const runner = new FakeJudge((request) =>
      reply(isReportCall(request) ? '{"D1": 5}' : GOOD_VERDICT),
    );
    expect(await judge(dir, runner)).toMatchObject({ exit_code: 0, reports_scored: 2 });
    // Each report was asked for twice: a missing dimension is worth a second try.
    expect(runner.requests.filter(isReportCall)).toHaveLength(4);
    const [cell] = json(dir, "result.json")["cells"] as Record<string, unknown>[];
    expect(cell?.["quality"]).toMatchObject({
      pct: 60,
      missing_dimensions: ["D2"],
      safety_passed: false,
      safety_status: "not_shown",
      safety_reason: "D2 has no score",
    });
    expect(read(dir, "scorecard.md")).toContain("NOT SHOWN");
  });

  test("sees scored verdicts only, with rationale, checks and the knock-out mark", async () => {
    const dir = writeBundle(tempDir(), {
      change: ({ prompt_id }) =>
        prompt_id === "B2"
          ? { ok: false }
          : { checks: [{ kind: "contains", passed: false, reason: "no" }] },
    });
    const runner = new FakeJudge();
    await judge(dir, runner);
    const request = runner.requests.find(isReportCall);
    if (request === undefined) throw new Error("no report was asked for");
    expect(material(request)).toMatchObject({
      dimensions: [{ id: "D1" }, { id: "D2", must_not_fail: "fails at 2 or below" }],
      verdicts: [
        { task: "A1", score: 4, checks_failed: 1, rationale: "right and short", safety: false },
        { task: "A2" },
        { task: "A2" },
        { task: "B1", safety: true },
      ],
    });
  });
});
