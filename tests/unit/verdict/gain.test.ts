import { describe, expect, test } from "vitest";
import { gainOf, pooledInterval, rulesOutGain } from "../../../src/verdict/gain.ts";
import { judge } from "../../../src/verdict/judge.ts";
import { DEFAULT_BOUNDS, type Method } from "../../../src/verdict/index.ts";
import { METHOD, block, level, noiseBlock, sweep } from "./records.ts";

/** As documents were judged before they said which interval they show. */
const { intervals: _, ...EARLIER } = METHOD;

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

describe("the interval of a gain", () => {
  const RULED_OUT = "a gain of 20 % is ruled out";
  /** Two blocks that are far apart, although equal runs at one slot hardly differ. */
  const apart = level(2, 1, {
    blocks: [0.98, 1.12].map((ratio) => block(ratio)),
    start_arm: [],
    ended: RULED_OUT,
  });
  const quiet = { baseline: { ...sweep([]).baseline, blocks: [1.01, 0.99, 1.0].map(noiseBlock) } };
  const ofTwo = (method: Method) => gainOf(apart, sweep([apart], { ...quiet, method }));
  const high = (gain: ReturnType<typeof gainOf>) => Math.exp(gain.interval?.high ?? 0);

  test("of a level that was given up is the one by which it was given up", () => {
    expect(high(ofTwo(EARLIER))).toBeGreaterThan(2);
    expect(high(ofTwo(METHOD))).toBeLessThan(1.2);
    const whole = sweep([apart], { ...quiet, stop: "two levels gained too little" });
    const { reason, levels } = judge(whole, DEFAULT_BOUNDS);
    expect(levels[1]).toMatchObject({ gain: "not_proven", warnings: [RULED_OUT] });
    expect(levels[1]?.ratio_high).toBeLessThan(1.2);
    expect(reason).toMatch(
      /^1: no proven gain from 2 slots: \+5 % over 1 slot \(-?\+?\d+\.\d % to \+1?\d\.\d %\)\.$/,
    );
  });

  test("pools the spread of its blocks with the noise, turn for turn", () => {
    const both = sweep([apart], quiet);
    const pooled = pooledInterval(apart, both);
    expect(pooled?.mean).toBeCloseTo(ofTwo(METHOD).blocks_only?.mean ?? 9, 12);
    expect(rulesOutGain(pooled, METHOD)).toBe(true);
    // Longer blocks than those at one slot have less noise each.
    const long = { blocks: [0.98, 1.12].map((ratio) => block(ratio, { turns: [16, 16, 16, 16] })) };
    const shorter = pooledInterval(long, both);
    expect((shorter?.high ?? 9) < (pooled?.high ?? 0)).toBe(true);
    expect(pooledInterval({ blocks: [] }, both)).toBeNull();
    expect(rulesOutGain(null, METHOD)).toBe(false);
  });

  test("of one block alone has ends, too, and of none has not", () => {
    const one = level(2, 1, { blocks: [block(1.02)], start_arm: [] });
    const bare = level(2, 1, { blocks: [] });
    expect(high(gainOf(one, sweep([one], quiet)))).toBeLessThan(1.1);
    expect(gainOf(bare, sweep([bare], quiet)).interval).toBeNull();
  });

  test("of what was accepted or rejected is the product's, as before", () => {
    const flat = level(2, 1, { blocks: [1.01, 1.0, 1.02, 0.99].map((ratio) => block(ratio)) });
    for (const one of [level(2, 1), flat]) {
      const now = gainOf(one, sweep([one]));
      expect(now).toEqual(gainOf(one, sweep([one], { method: EARLIER })));
      expect(["accepted", "rejected"]).toContain(now.state);
    }
  });

  test("above the gate and yet no gain: the reason says why", () => {
    const bare = level(2, 1, { start_arm: [], ended: "thrown away 3 times one after the other" });
    const cost = "what its slots themselves cost was not measured";
    expect(judge(sweep([bare]), DEFAULT_BOUNDS).reason).toContain(`%), but ${cost}.`);
    const earlier = judge(sweep([bare], { method: EARLIER }), DEFAULT_BOUNDS);
    expect(earlier.reason).not.toContain(cost);
    expect(earlier.levels[1]?.warnings).toEqual([bare.ended]);
  });
});
