import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { judgeConfigSchema } from "../../../src/eval/judge-config.ts";
import { readVerdicts } from "../../../src/eval/judge-store.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import {
  FakeJudge,
  GOOD_REPORT,
  GOOD_VERDICT,
  isReportCall,
  reply,
} from "../../helpers/fake-judge.ts";
import { writeBundle } from "../../helpers/judge-bundle.ts";
import { events, json, judge, read, saying } from "../../helpers/judging.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("another judge", () => {
  test("starts anew, sets the work of the first aside and says so; the first may come back", async () => {
    const dir = writeBundle(tempDir());
    const first = await judge(dir, new FakeJudge());
    const other = new FakeJudge();
    const second = await judge(dir, other, { model: "stricter" });
    const hash8 = (first.judge?.hash ?? "").slice(0, 8);
    expect(second.notes).toEqual([
      `10 judgements of another judge are set aside in judgements-${hash8}.jsonl`,
      `2 reports of another judge are set aside in reports-${hash8}.jsonl`,
    ]);
    expect(other.requests).toHaveLength(12);
    expect(new Set(readVerdicts(dir).map((verdict) => verdict.judge.model))).toEqual(
      new Set(["stricter"]),
    );
    const back = new FakeJudge();
    const third = await judge(dir, back);
    expect(back.requests).toHaveLength(0);
    expect(third).toMatchObject({ exit_code: 0, scored: 10, reports_scored: 2 });
    expect(third.notes).toContain(
      `10 judgements of this judge are taken up from judgements-${hash8}.jsonl`,
    );
  });

  test("is whoever has another model, version, setting or runner", async () => {
    const hashes = new Set<string | undefined>();
    const dir = writeBundle(tempDir());
    const newer = new FakeJudge();
    newer.version = "b2";
    for (const [runner, changes] of [
      [new FakeJudge(), {}],
      [new FakeJudge(), { model: "b" }],
      [new FakeJudge(), { config: judgeConfigSchema.parse({ temperature: 0.5 }) }],
      [new FakeJudge(), { config: judgeConfigSchema.parse({ max_tokens: 9 }) }],
      [newer, {}],
    ] as const) {
      hashes.add((await judge(dir, runner, changes)).judge?.hash);
    }
    expect(hashes.size).toBe(5);
    const patient = { config: judgeConfigSchema.parse({ call_timeout_s: 900 }) };
    hashes.add((await judge(dir, new FakeJudge(), patient)).judge?.hash);
    expect(hashes.size).toBe(5);
  });

  test("verdicts without a judge, and half lines, belong to nobody", async () => {
    const dir = writeBundle(tempDir());
    const old = { model: "small-model", variant: "none", prompt_id: "A1", repeat: 0, score: 5 };
    writeFileSync(join(dir, "judgements.jsonl"), `${JSON.stringify(old)}\n{"model": "sm`);
    const outcome = await judge(dir, new FakeJudge());
    expect(outcome.notes).toEqual([
      "1 judgements of another judge are set aside in judgements-unknown.jsonl",
    ]);
    expect(readVerdicts(dir)[0]?.score).toBe(4);
  });

  test("that is the model itself is flagged", async () => {
    const dir = writeBundle(tempDir());
    await judge(dir, new FakeJudge(), { model: "Small-Model:latest" });
    expect(read(dir, "scorecard.md")).toContain("The judge is the model it judges");
    expect(json(dir, "result.json")["judge"]).toMatchObject({ judges_itself: true });
  });
});

describe("a cell that was asked again", () => {
  test("is judged again, and the report of its variant with it", async () => {
    const dir = writeBundle(tempDir());
    await judge(dir, new FakeJudge());
    writeBundle(dir, {
      change: ({ variant, prompt_id }) =>
        variant === "brief" && prompt_id === "B2" ? { response_text: "Another answer." } : {},
    });
    const runner = new FakeJudge();
    expect(await judge(dir, runner)).toMatchObject({ exit_code: 0, scored: 10 });
    expect(runner.requests.map((request) => isReportCall(request))).toEqual([false, true]);
  });
});

describe("events", () => {
  test("tell the order, replay what is decided, and show life in both phases at most every 30 s", async () => {
    const dir = writeBundle(tempDir());
    await judge(dir, saying("no", "no"));
    const clock = new FakeClock({ wall_ms: Date.now() });
    const runner = new FakeJudge((request) => {
      for (const bytes of [1, 2, 3, 4, 5]) {
        clock.advance(15_000);
        request.onProgress?.({ bytes, phase: "answer", prompt_share: null });
      }
      return reply(isReportCall(request) ? GOOD_REPORT : GOOD_VERDICT);
    });
    await judge(dir, runner, { clock });
    const all = events(dir);
    expect(all[0]).toMatchObject({ type: "judge_start", total: 10, done: 9 });
    const count = (type: string) => all.filter((event) => event["type"] === type).length;
    expect(count("verdict")).toBe(10);
    expect(count("master")).toBe(2);
    expect([count("holistic_start"), count("holistic_done")]).toEqual([1, 1]);
    expect(all.filter((event) => event["type"] === "progress")).toMatchObject([
      { stage: "verdict", prompt_id: "A1", bytes: 2 },
      { stage: "verdict", prompt_id: "A1", bytes: 4 },
      { stage: "holistic", prompt_id: null, variant: "none", bytes: 2 },
      { stage: "holistic", prompt_id: null, variant: "none", bytes: 4 },
    ]);
    expect(all.at(-1)).toMatchObject({ type: "judge_done", total: 10, scored: 10, exit_code: 0 });
  });
});
