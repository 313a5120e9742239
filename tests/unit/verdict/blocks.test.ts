import { describe, expect, test } from "vitest";
import { blockFault, blockValues, gainOf, noiseOf } from "../../../src/verdict/blocks.ts";
import { METHOD, block, level, noiseBlock, sweep } from "./records.ts";

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

describe("a gain", () => {
  const of = (one: ReturnType<typeof level>, over = {}) => gainOf(one, sweep([one], over));

  test("four clear blocks and the start arms are accepted", () => {
    expect(of(level(2, 1)).state).toBe("accepted");
  });

  test("three blocks are not enough, however clear", () => {
    const three = level(2, 1, { blocks: [1.5, 1.5, 1.51].map((ratio) => block(ratio)) });
    expect(of(three).state).toBe("not_proven");
  });

  test("without start arms it is not proven; an attached server needs none", () => {
    const bare = level(2, 1, { start_arm: [] });
    expect(of(bare).state).toBe("not_proven");
    expect(of(bare, { method: { ...METHOD, residency: "attached" } }).state).toBe("accepted");
  });

  test("what the slots cost by themselves counts against it", () => {
    const base = level(2, 1);
    const costly = level(2, 1, {
      start_arm: base.start_arm.map(({ slots, workers, turns, output_tokens }) => {
        const busy_s = slots === 2 ? 58 : 40;
        return { slots, workers, turns, busy_s, output_tokens };
      }),
    });
    const gain = of(costly);
    expect(gain.blocks_only?.low).toBeGreaterThan(Math.log(1.4));
    expect(Math.exp(gain.interval?.mean ?? 0)).toBeCloseTo(1.505 / 1.45, 2);
    expect(gain.state).toBe("rejected");
  });

  test("an upper bound below the gate is a rejection; a gain of 10 % is not proven", () => {
    const flat = level(2, 1, { blocks: [1.01, 1.0, 1.02, 0.99].map((ratio) => block(ratio)) });
    const edge = level(2, 1, { blocks: [1.05, 1.15, 1.08, 1.12].map((ratio) => block(ratio)) });
    expect(of(flat).state).toBe("rejected");
    expect(of(edge).state).toBe("not_proven");
  });

  test("more tokens but fewer turns an hour is no gain", () => {
    // B answers half as many turns of twice the length.
    const wordy = [1.5, 1.52, 1.49, 1.51].map((ratio) => block(ratio, { turns: [4, 2, 2, 4] }));
    expect(of(level(2, 1, { blocks: wordy }))).toMatchObject({
      state: "rejected",
      note: "fewer turns an hour were answered",
    });
  });

  test("a larger number must beat a smaller one that failed by the gate as well", () => {
    const two = level(2, 1, { blocks: [1.12, 1.2, 1.14, 1.16].map((ratio) => block(ratio)) });
    const four = level(4, 1, { blocks: [1.2, 1.21, 1.22, 1.2].map((ratio) => block(ratio)) });
    const much = level(4, 1, { blocks: [1.7, 1.72, 1.69, 1.7].map((ratio) => block(ratio)) });
    expect(gainOf(four, sweep([two, four]))).toMatchObject({
      state: "not_proven",
      note: "it is not proven better than 2 slots",
    });
    expect(gainOf(much, sweep([two, much])).state).toBe("accepted");
    expect(gainOf(four, sweep([four])).state).toBe("accepted");
  });

  test("no block is not measured", () => {
    expect(of(level(2, 1, { blocks: [] })).state).toBe("not_measured");
  });
});
