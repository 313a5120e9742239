import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readJsonLines } from "../../src/core/files.ts";
import { ulidSource } from "../../src/core/ids.ts";
import { judgeConfigSchema } from "../../src/eval/judge-config.ts";
import { runJudge, type JudgeOptions, type JudgeOutcome } from "../../src/eval/judge.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeJudge, GOOD_REPORT, GOOD_VERDICT, isReportCall, reply } from "./fake-judge.ts";

/** Judges a bundle with everything at its default but what a test changes. */
export async function judge(
  dir: string,
  runner: FakeJudge,
  changes: Partial<JudgeOptions> = {},
): Promise<JudgeOutcome> {
  const clock = new FakeClock({ wall_ms: Date.now() });
  return runJudge({
    bundle_dir: dir,
    config: judgeConfigSchema.parse({}),
    model: "judge-model",
    runner,
    clock,
    new_id: ulidSource(clock),
    ...changes,
  });
}

export function read(dir: string, name: string): string {
  return readFileSync(join(dir, name), "utf8");
}

export function json(dir: string, name: string): Record<string, unknown> {
  return JSON.parse(read(dir, name)) as Record<string, unknown>;
}

export function events(dir: string): Record<string, unknown>[] {
  return readJsonLines(join(dir, "judge_events.jsonl")) as Record<string, unknown>[];
}

/** Answers verdict calls in turn by `texts`, the rest and reports well. */
export function saying(...texts: string[]): FakeJudge {
  let n = 0;
  return new FakeJudge((request) => {
    if (isReportCall(request)) return reply(GOOD_REPORT);
    const text = texts[n] ?? GOOD_VERDICT;
    n += 1;
    return reply(text);
  });
}
