import { describe, expect, test } from "vitest";
import { judgeFidelity, segmentsToPass } from "../../../src/verdict/fidelity.ts";
import { random } from "../../helpers/seeded.ts";
import { METHOD } from "./records.ts";

const agreement = (segments: number, structural_flips: number) => ({
  segments,
  structural_flips,
  exact_flips: structural_flips,
});
const SELF = agreement(20, 0);

describe("the sequential test of answers", () => {
  test("59 segments without a flip pass at 95 %, 58 do not", () => {
    expect(segmentsToPass(0, 0.05, 0.05)).toBe(59);
    expect(judgeFidelity(agreement(59, 0), SELF, METHOD).state).toBe("proven");
    expect(judgeFidelity(agreement(58, 0), SELF, METHOD)).toMatchObject({
      state: "not_proven",
      needed: 59,
    });
  });

  test("a flip asks for more segments than it would without the earlier look", () => {
    // A single look at 93 segments with one flip would be enough; the look at 59 has used up the error.
    expect(judgeFidelity(agreement(93, 1), SELF, METHOD).state).toBe("not_proven");
    expect(judgeFidelity(agreement(149, 1), SELF, METHOD).state).toBe("proven");
  });

  test("looking after every segment keeps the error", () => {
    const draw = random(5);
    let passed = 0;
    const trials = 4000;
    for (let trial = 0; trial < trials; trial++) {
      let flips = 0;
      for (let segments = 1; segments <= 400; segments++) {
        if (draw() < 0.05) flips += 1;
        if (segments >= (segmentsToPass(flips, 0.05, 0.05) ?? Infinity)) {
          passed += 1;
          break;
        }
      }
    }
    // 5 %, and three standard errors of 4000 trials.
    expect(passed / trials).toBeLessThan(0.0604);
    expect(passed / trials).toBeGreaterThan(0.03);
  });

  test("flips that the corpus has no segments to make up for break the bound", () => {
    expect(judgeFidelity(agreement(20, 1), SELF, METHOD, 128).state).toBe("broken");
    expect(judgeFidelity(agreement(20, 1), SELF, METHOD, 160).state).toBe("not_proven");
  });

  test("too small a corpus proves nothing and breaks nothing", () => {
    expect(judgeFidelity(agreement(20, 0), SELF, METHOD, 20).state).toBe("not_proven");
  });

  test("what one slot flips by itself is granted, by its lower bound only", () => {
    const strict = judgeFidelity(agreement(160, 8), SELF, METHOD);
    const granted = judgeFidelity(agreement(160, 8), agreement(100, 30), METHOD);
    expect(strict.limit).toBe(0.05);
    // 30 of 100, at the half of the error: above 0.21, below 0.30.
    expect(granted.limit).toBeGreaterThan(0.05 + 0.2);
    expect(granted.limit).toBeLessThan(0.05 + 0.3);
    expect(granted.state).toBe("proven");
  });
});
