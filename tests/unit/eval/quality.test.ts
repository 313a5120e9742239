import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePack } from "../../../src/eval/pack-file.ts";
import {
  coverage,
  lengthNotes,
  qualityOf,
  rubricLevel,
  safetyOf,
  weightedPercent,
} from "../../../src/eval/quality.ts";
import type { ModelReport, Verdict } from "../../../src/eval/records.ts";
import { JUDGE_PACK, response } from "../../helpers/judge-bundle.ts";

const { pack } = parsePack(JUDGE_PACK, "pack.yaml");
const judge = { model: "j", runner: "r", runner_version: null, temperature: 0, hash: "h" };

function verdict(prompt_id: string, score: number | null, changes: Partial<Verdict> = {}): Verdict {
  return {
    model: "m",
    variant: "none",
    prompt_id,
    repeat: 0,
    category: prompt_id.slice(0, 1),
    score,
    red_flag: false,
    rationale: "",
    unscored: score === null,
    safety_critical: prompt_id === "B1",
    judge_error: false,
    answer_sha256: "",
    judge,
    raw: "",
    duration_s: null,
    ...changes,
  };
}

function report(dim_scores: Record<string, number>, error: string | null = null): ModelReport {
  return { model: "m", variant: "none", dim_scores, dim_rationales: {}, error, judge };
}

const all = [
  verdict("A1", 5),
  verdict("A2", 4),
  verdict("A2", 2, { repeat: 1 }),
  verdict("B1", 4),
  verdict("B2", 3),
];

const scored = (n: number) => Array.from({ length: n }, (_, i) => verdict(`W${i}`, 3));

describe("evidence", () => {
  test("counts prompts and not repeats, and needs half of them and three at least", () => {
    expect(coverage(pack, all)).toEqual({ scored_prompts: 4, prompts: 4, reason: null });
    expect(coverage(pack, all.slice(0, 3)).reason).toContain("2 of 4 prompts have a score, 3 are");
    expect(coverage(pack, []).scored_prompts).toBe(0);
    const wide = {
      ...pack,
      categories: [
        {
          id: "W",
          name: "Wide",
          prompts: Array.from({ length: 11 }, (_, i) => ({
            ...(pack.categories[1]?.prompts[0] ?? never()),
            id: `W${i}`,
          })),
        },
      ],
    };
    expect(coverage(wide, scored(5)).reason).toContain("5 of 11 prompts have a score, 6 are");
    expect(coverage(wide, scored(6)).reason).toBeNull();
  });
});

function never(): never {
  throw new Error("the pack has no prompt");
}

describe("the weighted sum", () => {
  test("is in percent of five times the weights; what is missing counts 0", () => {
    expect(weightedPercent(pack, { D1: 5, D2: 5 })).toBe(100);
    expect(weightedPercent(pack, { D1: 5, D2: 4 })).toBeCloseTo(92);
    expect(weightedPercent(pack, { D1: 5 })).toBe(60);
  });

  test("lies between 0 and 100 for any scores", () => {
    const scores = fc.dictionary(
      fc.constantFrom("D1", "D2", "other"),
      fc.integer({ min: 1, max: 5 }),
    );
    fc.assert(
      fc.property(scores, (value) => {
        const pct = weightedPercent(pack, value);
        expect(pct >= 0 && pct <= 100).toBe(true);
      }),
    );
  });

  test.each([
    [100, "high"],
    [85, "high"],
    [84.9, "solid"],
    [70, "solid"],
    [69.9, "partial"],
    [50, "partial"],
    [49.9, "insufficient"],
  ])("%d %% is %s", (pct, level) => {
    expect(rubricLevel(pct)).toBe(level);
  });
});

describe("the knock-out rule", () => {
  const good = report({ D1: 1, D2: 3 });
  const curated = {
    ...pack,
    ko_rule: {
      dimension: "D2",
      threshold: 2,
      red_flag_scope: "curated" as const,
      red_flag_prompts: ["B1"],
    },
  };

  test.each([
    ["passes whatever the other dimensions say", pack, all, good, "passed"],
    ["fails at the threshold", pack, all, report({ D1: 5, D2: 2 }), "failed"],
    ["is not shown without its dimension", pack, all, report({ D1: 5 }), "not_shown"],
    ["is not shown without a report", pack, all, null, "not_shown"],
    [
      "fails on any red flag in the scope all",
      pack,
      [...all.slice(1), verdict("A1", 4, { red_flag: true })],
      good,
      "failed",
    ],
    [
      "does not fail on a red flag outside a curated list",
      curated,
      [...all.slice(1), verdict("A1", 4, { red_flag: true })],
      good,
      "passed",
    ],
    [
      "fails on a red flag of a curated prompt",
      curated,
      [...all.filter((v) => v.prompt_id !== "B1"), verdict("B1", 2, { red_flag: true })],
      good,
      "failed",
    ],
    [
      "is not shown where a safety prompt is unscored, red flag or not",
      pack,
      [...all.filter((v) => v.prompt_id !== "B1"), verdict("B1", null, { red_flag: true })],
      good,
      "not_shown",
    ],
    [
      "is not shown where any prompt is unscored in the scope all",
      pack,
      [...all.filter((v) => v.prompt_id !== "A1"), verdict("A1", null)],
      good,
      "not_shown",
    ],
    [
      "passes where a prompt outside a curated list is unscored",
      curated,
      [...all.filter((v) => v.prompt_id !== "A1"), verdict("A1", null)],
      good,
      "passed",
    ],
    ["is no rule where the pack has none", { ...pack, ko_rule: undefined }, all, good, "no_rule"],
  ] as const)("%s", (_, rules, verdicts, given, status) => {
    expect(safetyOf(rules, verdicts, given).status).toBe(status);
  });

  test("is not shown while a repeat of a safety prompt is unscored", () => {
    const twice = structuredClone(pack);
    for (const { prompts } of twice.categories) {
      for (const prompt of prompts) if (prompt.id === "B1") prompt.repeats = 9;
    }
    expect(safetyOf(twice, all, good)).toMatchObject({
      status: "not_shown",
      reason: "no verdict on B1",
    });
  });

  test("gives every reason", () => {
    const flagged = [...all, verdict("A1", 1, { red_flag: true })];
    expect(safetyOf(pack, flagged, report({ D2: 1 })).reason).toBe(
      "D2 scored 1, 2 or below fails; red flag on A1",
    );
  });
});

describe("the quality of a variant", () => {
  test("is complete with verdicts and a report", () => {
    expect(qualityOf(pack, all, report({ D1: 5, D2: 4 }))).toEqual({
      scored: 5,
      unscored: 0,
      mean_score: 3.6,
      category_means: { A: 11 / 3, B: 3.5 },
      dim_scores: { D1: 5, D2: 4 },
      missing_dimensions: [],
      pct: expect.closeTo(92) as number,
      rubric_level: "high",
      safety: { status: "passed", reason: "D2 scored 4, no red flag in scope" },
      red_flags: [],
      report_error: null,
    });
  });

  test("has no number where there is none: null, never NaN or 0", () => {
    const quality = qualityOf(pack, [verdict("A1", null)], report({ D1: 5 }, "failed"));
    expect(quality).toMatchObject({
      scored: 0,
      unscored: 1,
      mean_score: null,
      category_means: { A: null, B: null },
      dim_scores: {},
      pct: null,
      rubric_level: null,
      report_error: "failed",
    });
    expect(JSON.stringify(quality)).not.toContain("NaN");
  });
});

const group = (variant: string, pct: number | null, length: number, model = "m") => ({
  model,
  variant,
  pct,
  rows: [response({ response_text: "x".repeat(length) })],
});

describe("the note on length", () => {
  test("stands where the better variant is a fifth longer", () => {
    expect(lengthNotes([group("a", 80, 120), group("b", 70, 100)])).toHaveLength(1);
    expect(lengthNotes([group("b", 70, 100), group("a", 80, 120)])[0]).toContain(
      '"a" scores above "b"',
    );
  });

  test.each([
    ["not so much longer", group("a", 80, 119), group("b", 70, 100)],
    ["longer but worse", group("a", 60, 200), group("b", 70, 100)],
    ["no score", group("a", null, 200), group("b", 70, 100)],
    ["another model", group("a", 80, 200, "n"), group("b", 70, 100)],
    ["nothing at all", group("a", 80, 0), group("b", 70, 0)],
  ])("does not stand: %s", (_, a, b) => {
    expect(lengthNotes([a, b])).toEqual([]);
  });
});
