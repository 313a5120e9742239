import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Assignment } from "../../../src/calibrate/assign.ts";
import { drawCorpus } from "../../../src/calibrate/corpus-draw.ts";
import type { Corpus } from "../../../src/calibrate/corpus-schema.ts";
import { quotas, stratumLabels, stratumOf } from "../../../src/calibrate/strata.ts";
import { conversation, OPTIONS, poolOf } from "./pools.ts";

const many = (prefix: string, n: number, depths: (i: number) => (number | null)[]) =>
  Array.from({ length: n }, (_, i) => conversation(`${prefix}${i}`, depths(i))).flat();

const drawnBy = (corpus: Corpus) =>
  Object.fromEntries(corpus.allocation.map(({ label, segments }) => [label, segments]));

describe("strata", () => {
  it("are labelled by their edges and hold their lower one", () => {
    expect(stratumLabels([100, 1000])).toEqual(["0-99", "100-999", ">=1000"]);
    expect([0, 99, 100, 999, 1000, 9e9].map((n) => stratumOf(n, [100, 1000]))).toEqual([
      0, 0, 1, 1, 2, 2,
    ]);
    expect(stratumLabels([])).toEqual([">=0"]);
  });
});

describe("quotas", () => {
  const free = { minimum: 0, available: [99, 99, 99] };

  it("go by largest remainder", () => {
    expect(quotas(10, [0.46, 0.34, 0.2], free)).toEqual([5, 3, 2]);
    expect(quotas(3, [1 / 3, 1 / 3, 1 / 3], free)).toEqual([1, 1, 1]);
  });

  it("keep minima at the cost of the stratum that has most above its share", () => {
    expect(quotas(20, [0.9, 0.08, 0.02], { minimum: 2, available: [99, 99, 99] })).toEqual([
      16, 2, 2,
    ]);
  });

  it("give what one stratum lacks to the others", () => {
    expect(quotas(20, [0.5, 0.3, 0.2], { minimum: 2, available: [99, 99, 1] })).toEqual([12, 7, 1]);
    expect(quotas(20, [0.5, 0.3, 0.2], { minimum: 2, available: [3, 2, 1] })).toEqual([3, 2, 1]);
  });

  it("let minima give way where there are too few segments for them", () => {
    expect(quotas(2, [0.5, 0.3, 0.2], { minimum: 2, available: [9, 9, 9] })).toEqual([1, 1, 0]);
  });

  it("always sum up to the total, or to all there is", () => {
    const stratum = fc.tuple(fc.nat({ max: 50 }), fc.nat({ max: 30 }));
    fc.assert(
      fc.property(
        fc.array(stratum, { minLength: 1, maxLength: 6 }),
        fc.nat({ max: 80 }),
        fc.nat({ max: 4 }),
        (strata, total, minimum) => {
          const turns = strata.map(([n, cap]) => (cap === 0 ? n : n + 1));
          const all = turns.reduce((a, b) => a + b, 0);
          fc.pre(all > 0);
          const available = strata.map(([, cap]) => cap);
          const given = quotas(
            total,
            turns.map((n) => n / all),
            { minimum, available },
          );
          const most = available.reduce((a, b) => a + b, 0);
          expect(given.reduce((a, b) => a + b, 0)).toBe(Math.min(total, most));
          for (const [i, n] of given.entries()) {
            expect(n).toBeGreaterThanOrEqual(0);
            expect(n).toBeLessThanOrEqual(available[i] ?? 0);
          }
        },
      ),
    );
  });
});

describe("assignment", () => {
  it("moves those that were placed where that makes room", () => {
    const assignment = new Assignment([new Set([0, 1]), new Set([0]), new Set([1, 2])]);
    expect([0, 1, 0].map((stratum) => assignment.place(stratum))).toEqual([true, true, true]);
    expect([assignment.count(0), assignment.count(1)]).toEqual([2, 1]);
    expect(assignment.place(2)).toBe(false);
    expect([...assignment.placed.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
  });
});

describe("a drawn corpus", () => {
  const pool = poolOf([
    ...many("short", 60, (i) => [20 + (i % 40), 70, 80]),
    ...many("middle", 25, (i) => [150 + i, 300, 500]),
    ...many("deep", 15, (i) => [1200 + i, 1500, 2000]),
  ]);

  it("has consecutive turns of runs that share no beginning", () => {
    const corpus = drawCorpus(pool, OPTIONS);
    expect(corpus.segments).toHaveLength(100);
    expect(new Set(corpus.segments.map(({ run }) => run)).size).toBe(100);
    for (const { turns, run } of corpus.segments) {
      expect(turns).toHaveLength(3);
      expect(turns.map(({ id }) => id)).toEqual([`${run}.0`, `${run}.1`, `${run}.2`]);
      const [a, b] = turns;
      expect(b?.messages.slice(0, a?.messages.length)).toEqual(a?.messages);
    }
  });

  it("is stratified by depth and weighted back to the pool's own mix of turns", () => {
    const corpus = drawCorpus(pool, { ...OPTIONS, segments: 20, min_per_stratum: 5 });
    expect(drawnBy(corpus)).toEqual({ "0-99": 10, "100-999": 5, ">=1000": 5 });
    const mean = corpus.segments.reduce((sum, { weight }) => sum + weight, 0) / 20;
    expect(mean).toBeCloseTo(1, 12);
    for (const { label, share } of corpus.population.strata) {
      const weights = corpus.segments.filter(({ stratum }) => stratum === label);
      const sum = weights.reduce((total, { weight }) => total + weight, 0);
      expect(sum / 20).toBeCloseTo(share, 12);
    }
  });

  it("is the same for the same seed and another for another, by one byte or more", () => {
    const draw = (seed: number) => drawCorpus(pool, { ...OPTIONS, seed, segments: 60 });
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7).sha256).not.toBe(draw(8).sha256);
    expect(new Set(draw(7).segments.map(({ run }) => run))).not.toEqual(
      new Set(draw(8).segments.map(({ run }) => run)),
    );
  });

  it("does not go from shallow to deep", () => {
    const { segments } = drawCorpus(pool, OPTIONS);
    const half = (from: number) =>
      segments.slice(from, from + 50).reduce((sum, { depth_tokens }) => sum + depth_tokens, 0);
    expect(Math.abs(half(0) - half(50)) / (half(0) + half(50))).toBeLessThan(0.4);
    const depths = segments.map(({ depth_tokens }) => depth_tokens);
    expect(depths).not.toEqual(depths.toSorted((a, b) => a - b));
  });

  it("gives long conversations to the deep stratum that nothing else can serve", () => {
    const long = poolOf([
      ...many("long", 4, () => [50, 60, 150, 1500, 1600]),
      ...many("short", 60, () => [30]),
    ]);
    const corpus = drawCorpus(long, { ...OPTIONS, segments: 60, segment_length: 1 });
    expect(drawnBy(corpus)).toEqual({ "0-99": 56, "100-999": 2, ">=1000": 2 });
  });

  it("takes shorter segments where the pool has too few long ones", () => {
    const corpus = drawCorpus(
      poolOf(many("a", 70, (i) => [10, 20].slice(0, 1 + (i % 2)))),
      OPTIONS,
    );
    expect(corpus).toMatchObject({ segment_length: 1 });
    expect(corpus.segments).toHaveLength(70);
  });

  it("says how many segments there are, how many are missing, and every way to more", () => {
    const small = poolOf(many("a", 23, () => [10, 20, 30, 40, 50, 60]));
    expect(() => drawCorpus(small, { ...OPTIONS, segment_length: 3 })).toThrow(
      expect.objectContaining({
        exitCode: 64,
        code: "pool_too_small",
        message:
          "the pool carries 23 segments of 3 consecutive turns, no two with a shared beginning; " +
          "59 are needed for a fidelity verdict, so 36 are missing (138 turns in 23 conversations)",
        hint: expect.stringMatching(
          /add 36 more conversations of 3 consecutive turns or more.*--allow-shared-prefix carries 46.*--segments 23/,
        ),
      }),
    );
    expect(() => drawCorpus(small, { ...OPTIONS, segments: 24 })).toThrow(/24 were asked for/);
  });

  it("draws a smaller one when asked, and notes what that cannot prove", () => {
    const corpus = drawCorpus(poolOf(many("a", 23, () => [10, 20, 30])), {
      ...OPTIONS,
      segments: 23,
      segment_length: 2,
    });
    expect(corpus.notes.join("\n")).toContain("23 segments; a fidelity verdict needs 59");
  });

  it("draws several segments of one conversation only when asked, side by side, and says so", () => {
    const runs = poolOf(many("a", 20, () => [10, 20, 30, 40, 50, 60, 70]));
    const options = { ...OPTIONS, segment_length: 2, allow_shared_prefix: true, segments: 60 };
    const corpus = drawCorpus(runs, options);
    expect(corpus.segments).toHaveLength(60);
    const turns = corpus.segments.flatMap((segment) => segment.turns.map(({ id }) => id));
    expect(new Set(turns).size).toBe(120);
    expect(corpus.notes.join("\n")).toContain("may share the beginning of one conversation");
  });

  it("takes one segment of each conversation before a second one of any", () => {
    const runs = poolOf(many("a", 20, () => [10, 20, 30, 40, 50, 60]));
    const options = { ...OPTIONS, segment_length: 2, allow_shared_prefix: true, segments: 20 };
    const { segments } = drawCorpus(runs, options);
    expect(new Set(segments.map(({ run }) => run)).size).toBe(20);
  });

  it("notes strata of the pool in which no segment begins", () => {
    const deepEnds = poolOf(many("a", 60, () => [10, 20, 2000]));
    const corpus = drawCorpus(deepEnds, { ...OPTIONS, segment_length: 3 });
    expect(corpus.notes.join("\n")).toContain(
      "stratum >=1000: 60 turns of the pool, but no segment",
    );
    expect(corpus.segments.every(({ weight }) => Math.abs(weight - 1) < 1e-9)).toBe(true);
  });

  it("notes a common system prompt, which a cache would serve", () => {
    const same = Array.from({ length: 60 }, (_, i) => conversation(`c${i}`, [90], "same")).flat();
    const { notes } = drawCorpus(poolOf(same), OPTIONS);
    expect(notes.join("\n")).toContain("60 of 60 segments begin with a message that another one");
  });
});
