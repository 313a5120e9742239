import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { jsonLine } from "../../../src/core/json.ts";
import type { ModelReport, Verdict } from "../../../src/eval/records.ts";
import { writeResult } from "../../../src/eval/result-json.ts";
import { writeScorecard } from "../../../src/eval/scorecard.ts";
import { SCORE_COLUMNS, writeScores } from "../../../src/eval/scores-csv.ts";
import { readBundle } from "../../../src/eval/judge-bundle.ts";
import { readReports, readVerdicts } from "../../../src/eval/judge-store.ts";
import { writeBundle } from "../../helpers/judge-bundle.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const judge = {
  model: "j|udge",
  runner: "r",
  runner_version: "1",
  temperature: 0,
  hash: "abcdef0123",
};

function judged(dir: string, scores: Record<string, number>, rationale = "fine"): void {
  const verdicts = ["A1", "A2", "B1", "B2"].map((prompt_id): Verdict => ({
    model: "small-model",
    variant: "none",
    prompt_id,
    repeat: 0,
    category: prompt_id.slice(0, 1),
    score: prompt_id === "B2" ? null : 4,
    red_flag: prompt_id === "A1",
    rationale,
    unscored: prompt_id === "B2",
    safety_critical: false,
    judge_error: false,
    answer_sha256: "",
    judge,
    raw: "",
    duration_s: 1,
  }));
  const report: ModelReport = {
    model: "small-model",
    variant: "none",
    dim_scores: scores,
    dim_rationales: {},
    error: null,
    judge,
  };
  writeFileSync(join(dir, "judgements.jsonl"), verdicts.map((row) => jsonLine(row)).join(""));
  writeFileSync(join(dir, "reports.jsonl"), jsonLine(report));
}

function scorecard(dir: string): string {
  writeScorecard(dir);
  return readFileSync(join(dir, "scorecard.md"), "utf8");
}

function result(dir: string) {
  writeResult(dir);
  return JSON.parse(readFileSync(join(dir, "result.json"), "utf8")) as {
    schema_version: number;
    judge: Record<string, unknown> | null;
    provenance: Record<string, unknown>;
    cells: Record<string, Record<string, unknown> | null>[];
  };
}

describe("a bundle without a judge", () => {
  test("has a scorecard with speed and checks, and says how to judge it", () => {
    const dir = writeBundle(tempDir(), {
      change: ({ prompt_id }) => ({
        checks:
          prompt_id === "A1"
            ? [
                { kind: "contains", passed: true, reason: null },
                { kind: "max_words", passed: false, reason: "30 words, allowed 20" },
                { kind: "regex", passed: null, reason: "not decided within 1000 ms" },
              ]
            : [],
      }),
    });
    const text = scorecard(dir);
    expect(text).toContain("# Kitchen help: small-model");
    expect(text).toContain("touchstoned judge --bundle");
    expect(text).toContain("1 passed, 1 failed, 1 undecided");
    expect(text).toContain("30 words, allowed 20");
    expect(text).toContain("0.50 / 0.50 s");
    expect(text).not.toMatch(/NaN|undefined|null|Infinity/);
    expect(text).not.toContain("## Safety");
  });

  test("has a result with null where nothing is known", () => {
    const dir = writeBundle(tempDir());
    const { schema_version, judge: who, cells, provenance } = result(dir);
    expect([schema_version, who]).toEqual([1, null]);
    expect(provenance).toMatchObject({ chip: "Test chip", ram_gb: 16, engine: "llama-server" });
    expect(cells.map((cell) => cell["variant"])).toEqual(["brief", "none"]);
    expect(cells[0]).toMatchObject({
      quality: null,
      answer_tokens_med: 12,
      perf: { n: 5, ttft_p50: 0.5, model_delta_gb: 1, weights_delta_gb: null, peak_ram_gb: 8 },
    });
  });

  test("flags throttling, battery, thoughts without answers, and what is not known", () => {
    const dir = writeBundle(tempDir(), {
      change: ({ variant, prompt_id }) => {
        if (variant === "brief") return { throttled: null, power_source: null };
        if (prompt_id === "A1") return { throttled: true, power_source: "battery" };
        return prompt_id === "B1"
          ? { content_empty: true, response_text: "", reasoning_chars: 5 }
          : {};
      },
    });
    const text = scorecard(dir);
    expect(text).toContain("none: the machine throttled during some answers.");
    expect(text).toContain("none: some answers were made on battery.");
    expect(text).toContain("none: 1 of 5 answers are thoughts only");
    expect(text).toContain("brief: whether the machine throttled is not known.");
  });
});

describe("prompts that came out of a cache", () => {
  test.each([
    [40, true],
    [20, false],
    [null, false],
  ])("%j of 100 cached tokens", (cached_tokens, told) => {
    const dir = writeBundle(tempDir(), { change: () => ({ cached_tokens, prompt_tokens: 100 }) });
    const note = "brief: 40 % of the prompt tokens came out of the runner's cache";
    expect(scorecard(dir).includes(note)).toBe(told);
  });
});

describe("a judged bundle", () => {
  test("shows quality, level, safety with reason, red flags, dimensions and verdicts", () => {
    const dir = writeBundle(tempDir());
    judged(dir, { D1: 5, D2: 4 });
    const text = scorecard(dir);
    expect(text).toMatch(/\| none +\| 92\.0 % +\| high +\| FAILED/);
    expect(text).toContain("- none: **FAILED** (red flag on A1). Red flags: A1.");
    expect(text).toMatch(/D2 Safe \(knock-out\) +\| 2 +\| 4/);
    expect(text).toMatch(/Weighted, of 100 % +\| +\| 92\.0 %/);
    expect(text).toMatch(/A1 +\| none +\| 4 +\| RED +\| fine/);
    expect(text).toMatch(/B2 +\| none +\| - +\| +\| fine/);
    expect(text).toContain("none: 1 answers have no score and count for nothing.");
  });

  test("text from models and judges cannot break the page", () => {
    const dir = writeBundle(tempDir());
    judged(dir, { D1: 1 }, "a | b\n# Heading\n<script>x</script> ![i](http://x/y) `c`");
    const text = scorecard(dir);
    expect(text).toContain(
      String.raw`a \| b # Heading &lt;script>x&lt;/script> !\[i](http://x/y) \`c\``,
    );
    expect(text).toContain(String.raw`j\|udge`);
    expect(text).not.toContain("\n# Heading");
    expect(text).toContain("the judge left out D2; in the sum they count 0");
  });

  test("has a result that says not shown is not passed, and the judge", () => {
    const dir = writeBundle(tempDir());
    judged(dir, { D1: 5 });
    const { judge: who, cells } = result(dir);
    expect(who).toMatchObject({ model: "j|udge", version: "1", seed: null, judges_itself: false });
    expect(cells[1]?.["quality"]).toMatchObject({ pct: 60, safety_passed: false, scored: 3 });
    expect(cells[0]?.["quality"]).toBeNull();
  });

  test("has scores in touchstone's columns with safety behind them; empty where nothing is known", () => {
    const dir = writeBundle(tempDir());
    judged(dir, { D1: 5, D2: 4 });
    writeScores(readBundle(dir), readVerdicts(dir), readReports(dir));
    const lines = readFileSync(join(dir, "scores.csv"), "utf8").trimEnd().split("\n");
    expect(lines[0]).toBe(SCORE_COLUMNS.join(","));
    expect(lines[0]?.split(",").slice(0, 17).join(",")).toBe(
      "chip,ram_gb,pack,pack_version,model,quant,variant,ttft_p50,decode_med,e2e_med,peak_ram_gb,model_delta_gb,power,metric_type,metric,weight,score",
    );
    expect(lines.slice(1)).toEqual([
      "Test chip,16,kitchen,1,small-model,Q4_K_M,none,0.5,20,2,8,1,ac,dimension,D1,3,5,failed,A1,3,1,j|udge,abcdef0123",
      "Test chip,16,kitchen,1,small-model,Q4_K_M,none,0.5,20,2,8,1,ac,dimension,D2,2,4,failed,A1,3,1,j|udge,abcdef0123",
      "Test chip,16,kitchen,1,small-model,Q4_K_M,brief,0.5,20,2,8,1,ac,none,,,,,,,,,",
    ]);
  });
});

describe("a bundle whose pack was edited", () => {
  test("gets no report: the answers belong to another text", () => {
    const dir = writeBundle(tempDir());
    writeFileSync(join(dir, "pack.yaml"), "id: other\n");
    expect(() => writeScorecard(dir)).toThrow(/not the pack that was asked/);
  });
});
