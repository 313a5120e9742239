import { describe, expect, test } from "vitest";
import { blockFault, blockValues, noiseOf } from "../../../src/verdict/blocks.ts";
import { METHOD, block, noiseBlock } from "./records.ts";

describe("a block", () => {
  test("its value is the log of B over A, in either order", () => {
    const baab = block(1, { order: "BAAB", busy_s: [20, 40, 40, 20] });
    const [abba, other] = blockValues([block(2), baab]);
    expect(abba).toBeCloseTo(Math.log(2), 12);
    expect(other).toBeCloseTo(Math.log(2), 12);
  });

  test("a steady slowdown takes as much from one arm as from the other", () => {
    // Each period is 5 % slower than the one before it; the arms are equal.
    const slow = block(1, { busy_s: [1, 1.05, 1.05 ** 2, 1.05 ** 3].map((f) => 40 * f) as never });
    expect(blockValues([slow])[0]).toBeCloseTo(0, 12);
  });

  test("another mix of work is no comparison", () => {
    const other = block(1.5, { output_tokens: [600, 560, 560, 600] });
    expect(blockFault(other)).toContain("different work");
    expect(blockValues([other])).toEqual([]);
    expect(blockFault(block(1.5, { output_tokens: [600, 580, 580, 600] }))).toBeNull();
  });

  test("another share from a cache is no comparison; an unknown one cannot tell", () => {
    const warm = block(1.5, { cached_tokens: [0, 9000, 9000, 0] });
    expect(blockFault(warm)).toContain("in a cache");
    expect(blockFault(block(1.5, { cached_tokens: null }))).toBeNull();
    // Both arms warm in the same way: the second of each pair.
    expect(blockFault(block(1.5, { cached_tokens: [0, 9000, 0, 9000] }))).toBeNull();
  });

  test("a period without answers is no comparison", () => {
    expect(blockFault(block(1, { turns: [4, 0, 4, 4], busy_s: [40, 0, 40, 40] }))).toContain(
      "answered nothing",
    );
  });
});

describe("noise", () => {
  test("is that of a block, from pairs whose mean is known to be zero", () => {
    const noise = noiseOf([noiseBlock(1.1), noiseBlock(1 / 1.1)], METHOD);
    // Each pair is off by log 1.1; a block halves two of them.
    expect(noise?.sigma).toBeCloseTo(Math.log(1.1) / Math.sqrt(2), 10);
    expect(noise?.freedom).toBe(4);
    // t(0.015, 11) = 2.4907
    expect(noise?.smallest).toBeCloseTo(
      Math.expm1((2.4907 * (noise?.sigma ?? 0)) / Math.sqrt(12)),
      4,
    );
  });

  test("nothing measured is null", () => {
    expect(noiseOf([], METHOD)).toBeNull();
  });
});
