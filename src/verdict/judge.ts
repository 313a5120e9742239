import { noiseOf } from "./blocks.ts";
import { judgeBaseline, judgeLevel, judgeUnloaded, ladderBreaches } from "./judge-level.ts";
import type { Bounds, Breach, LevelJudgement, Verdict } from "./judgement.ts";
import { incompleteReason, measuredReason, noisyReason, refusedReason } from "./reasons.ts";
import type { Sweep } from "./records.ts";

function judgeLevels(sweep: Sweep, bounds: Bounds): LevelJudgement[] {
  const measured = sweep.levels.map((level) => judgeLevel(level, sweep, bounds));
  const unloaded = sweep.ladder.flatMap((start) => {
    const { slots_asked: slots } = start;
    if (slots <= 1 || measured.some((level) => level.slots === slots)) return [];
    const breaches = ladderBreaches(sweep, slots, bounds);
    return breaches.length === 0 ? [] : [judgeUnloaded(start, breaches)];
  });
  return [...measured, ...unloaded];
}

/**
 * The levels that were accepted one upon the other, in the order in which they were tried: a level
 * counts only if it beat a number that itself counts.
 */
function acceptedChain(levels: readonly LevelJudgement[], ceiling: number): LevelJudgement[] {
  const accepted = new Set([1]);
  return levels.filter((level) => {
    const counts =
      level.slots < ceiling &&
      level.gain === "accepted" &&
      level.breaches.length === 0 &&
      accepted.has(level.against);
    if (counts) accepted.add(level.slots);
    return counts;
  });
}

const highest = (levels: readonly LevelJudgement[]): number =>
  Math.max(1, ...levels.map((level) => level.slots));

const rounded = (value: number | undefined): number | null =>
  value === undefined ? null : Number(value.toPrecision(6));

/**
 * The verdict, wholly from what was recorded: `bounds` may be today's stricter ones. Pure; the same
 * function decides while measuring, in `evidence verify`, and in `slots allowed`.
 */
export function judge(sweep: Sweep, bounds: Bounds): Verdict {
  const tried = judgeLevels(sweep, bounds);
  const levels = [judgeBaseline(sweep, bounds), ...tried].sort((a, b) => a.slots - b.slots);
  const breaches: Breach[] = levels.flatMap((level) => level.breaches.slice(0, 1));
  const first = breaches[0] ?? null;
  const noise = noiseOf(sweep.baseline.blocks, sweep.method);
  const common = {
    first_breach: first,
    noise: { sigma_log: rounded(noise?.sigma), smallest_gain: rounded(noise?.smallest) },
    levels,
    bounds,
  };
  const one = { recommended: 1, max_safe: 1 };
  if (!sweep.complete || !sweep.baseline.start.loaded) {
    const reason = first?.slots === 1 ? refusedReason(first) : incompleteReason(sweep);
    return { result: "incomplete", ...one, ...common, reason };
  }
  // A bound that two slots break needs no throughput: the answer is 1, however noisy the device.
  const ceiling = first?.slots ?? Infinity;
  if (ceiling > 2 && noise === null && tried.length > 0) {
    const reason = incompleteReason({ ...sweep, stop: "noise at one slot was not measured" });
    return { result: "incomplete", ...one, ...common, reason };
  }
  if (ceiling > 2 && noise !== null && noise.smallest > sweep.method.gain_gate) {
    const reason = noisyReason(noise.sigma, noise.smallest, sweep.method);
    return { result: "too_noisy", ...one, ...common, reason };
  }
  const proven = acceptedChain(tried, ceiling).filter((level) => level.fidelity === "proven");
  const recommended = highest(proven);
  const inside = tried.filter(
    (level) => level.slots < ceiling && level.breaches.length === 0 && level.fidelity === "proven",
  );
  return {
    result: "measured",
    recommended,
    max_safe: Math.max(recommended, highest(inside)),
    ...common,
    reason: measuredReason(recommended, first, levels, sweep.method),
  };
}
