import { mean, studentInterval, studentQuantile, variance, welchInterval } from "./student.ts";
import type { Interval } from "./student.ts";
import type { Block, Level, Method, StartArm, Sweep } from "./records.ts";

/** Work of two arms may differ by this share and still be the same work. */
const MIX_TOLERANCE = 0.05;
/** Share of prompt tokens from a cache may differ by this between the arms. */
const CACHE_TOLERANCE = 0.05;

/** One-sided error of the comparison with a smaller number that failed. */
const RIVAL_ALPHA = 0.2;

type Arm = "A" | "B";
type Column = Block["turns"];

/** Sums one column of a block over the two periods of an arm. */
function total(block: Block, arm: Arm, column: Column): number {
  return column.reduce((sum, value, index) => (block.order[index] === arm ? sum + value : sum), 0);
}

/** Mean over an arm's two periods of the log of a rate (`amounts` a second). */
function logRate(block: Block, arm: Arm, amounts: Column): number {
  const logs = amounts.flatMap((amount, index) =>
    block.order[index] === arm ? [Math.log(amount / (block.busy_s[index] ?? 0))] : [],
  );
  return mean(logs);
}

/** Log of throughput of arm B over arm A, server-counted output tokens a second. */
function blockValue(block: Block): number {
  return logRate(block, "B", block.output_tokens) - logRate(block, "A", block.output_tokens);
}

/** Why a block is no comparison; null where it is one. */
export function blockFault(block: Block): string | null {
  const empty = [...block.turns, ...block.busy_s, ...block.output_tokens].some((x) => x <= 0);
  if (empty) return "a period of it answered nothing";
  const mix = (arm: Arm): number =>
    total(block, arm, block.prompt_tokens) / total(block, arm, block.output_tokens);
  const mixChange = mix("B") / mix("A");
  if (mixChange > 1 + MIX_TOLERANCE || mixChange < 1 / (1 + MIX_TOLERANCE)) {
    return `its two arms did different work: prompt tokens for each output token differ by more than ${MIX_TOLERANCE * 100} %`;
  }
  const { cached_tokens } = block;
  if (cached_tokens !== null) {
    const cached = (arm: Arm): number =>
      total(block, arm, cached_tokens) / Math.max(1, total(block, arm, block.prompt_tokens));
    if (Math.abs(cached("A") - cached("B")) > CACHE_TOLERANCE) {
      return "its two arms found different shares of their prompts in a cache";
    }
  }
  return null;
}

/** Blocks that are comparisons. */
export function soundBlocks(blocks: readonly Block[]): Block[] {
  return blocks.filter((block) => blockFault(block) === null);
}

/** Log ratios of the blocks that are comparisons. */
export function blockValues(blocks: readonly Block[]): number[] {
  return soundBlocks(blocks).map(blockValue);
}

/** Output tokens a second and turns an hour of one arm over all blocks. */
export function armRates(
  blocks: readonly Block[],
  arm: Arm,
): { tokens_per_s: number; turns_per_hour: number } | null {
  const sum = (pick: (block: Block) => Column): number =>
    blocks.reduce((all, block) => all + total(block, arm, pick(block)), 0);
  const busy_s = sum((block) => block.busy_s);
  if (busy_s <= 0) return null;
  return {
    tokens_per_s: sum((block) => block.output_tokens) / busy_s,
    turns_per_hour: (sum((block) => block.turns) / busy_s) * 3600,
  };
}

export interface Noise {
  /** Standard deviation of one block's value. */
  sigma: number;
  /** How well it is known. */
  freedom: number;
  /** Smallest difference that the largest number of blocks can show, as a share. */
  smallest: number;
}

/**
 * Noise of a block, from blocks whose two arms are the same. Each has two pairs of periods with the
 * same prompts; a pair's log ratio is zero but for noise, so no mean has to be estimated.
 */
export function noiseOf(blocks: readonly Block[], method: Method): Noise | null {
  const sound = soundBlocks(blocks);
  const pairs = sound.flatMap(({ output_tokens, busy_s }) => [
    Math.log(output_tokens[0] / busy_s[0]) - Math.log(output_tokens[1] / busy_s[1]),
    Math.log(output_tokens[2] / busy_s[2]) - Math.log(output_tokens[3] / busy_s[3]),
  ]);
  if (pairs.length === 0) return null;
  // A block is half the difference of two pairs: its variance is half that of a pair.
  const sigma = Math.sqrt(mean(pairs.map((pair) => pair ** 2)) / 2);
  const reach = studentQuantile(method.alpha_per_look, Math.max(1, method.blocks_max - 1));
  const smallest = Math.expm1((reach * sigma) / Math.sqrt(method.blocks_max));
  return { sigma, freedom: pairs.length, smallest };
}

export interface Gain {
  state: "accepted" | "rejected" | "not_proven" | "not_measured";
  /** Log of the ratio that counts, with one-sided bounds; null = no sound block. */
  interval: Interval | null;
  /** The blocks alone, without what the slots themselves cost. */
  blocks_only: Interval | null;
  /** Why it is no gain although throughput may have risen; null where that is not so. */
  note: string | null;
}

/** Log of throughput of each start arm, by whose slots they have. */
function armLogs(arms: readonly StartArm[], slots: number): number[] {
  return arms
    .filter((arm) => arm.slots === slots && arm.busy_s > 0 && arm.output_tokens > 0)
    .map((arm) => Math.log(arm.output_tokens / arm.busy_s));
}

/**
 * The product that counts: what more workers give on the candidate's start, times what having its
 * slots configured costs by itself. Spread of the start arms is pooled with that of the blocks, turn
 * for turn, since two arms a side alone say next to nothing about it.
 */
function product(level: Level, values: readonly number[], method: Method): Interval | null {
  const own = armLogs(level.start_arm, level.against);
  const candidate = armLogs(level.start_arm, level.slots);
  const spread = variance(values);
  const between = [variance(own), variance(candidate)];
  const [first, second] = between;
  if (spread === null || first == null || second == null) return null;
  const sound = soundBlocks(level.blocks);
  const blockTurns = mean(sound.flatMap((block) => block.turns));
  const armTurns = mean(level.start_arm.map((arm) => arm.turns));
  const blockFreedom = values.length - 1;
  const armFreedom = own.length + candidate.length - 2;
  const armSpread =
    (blockFreedom * spread * (blockTurns / armTurns) +
      (own.length - 1) * first +
      (candidate.length - 1) * second) /
    (blockFreedom + armFreedom);
  return welchInterval(
    mean(values) + mean(candidate) - mean(own),
    [
      { variance: spread / values.length, freedom: blockFreedom },
      {
        variance: armSpread * (1 / own.length + 1 / candidate.length),
        freedom: blockFreedom + armFreedom,
      },
    ],
    method.alpha_per_look,
  );
}

/** A level's mean block value, and what its spread rests on. */
function summary(level: Level): { mean: number; count: number; squares: number } | null {
  const values = blockValues(level.blocks);
  const spread = variance(values);
  if (spread === null) return null;
  return { mean: mean(values), count: values.length, squares: (values.length - 1) * spread };
}

/**
 * A smaller number that was tried against the same best, broke nothing that its blocks show, and was
 * not accepted, which this level is not proven to beat by the gate as well: then more slots than
 * needed would be the answer. Spread is pooled over both and the blocks at one slot. null = none.
 */
function unbeatenRival(level: Level, logGain: number, sweep: GainContext): number | null {
  const { method, levels, baseline } = sweep;
  const own = summary(level);
  const noise = noiseOf(baseline.blocks, method);
  if (own === null || noise === null) return null;
  const rivals = levels.filter(
    (other) =>
      other.against === level.against &&
      other.slots < level.slots &&
      other.lost === null &&
      other.start.loaded,
  );
  for (const rival of rivals) {
    const other = summary(rival);
    if (other === null) continue;
    const freedom = own.count + other.count - 2 + noise.freedom;
    const spread =
      (own.squares + other.squares + noise.freedom * noiseNow(noise, level, baseline.blocks) ** 2) /
      freedom;
    const error = Math.sqrt(spread * (1 / own.count + 1 / other.count));
    const low = logGain - other.mean - studentQuantile(RIVAL_ALPHA, freedom) * error;
    if (low <= Math.log1p(method.gain_gate)) return rival.slots;
  }
  return null;
}

/** Noise of a block with this level's number of turns, from that of the blocks at one slot. */
export function noiseNow(
  noise: Noise,
  level: Pick<Level, "blocks">,
  one: readonly Block[],
): number {
  const then = one[0]?.turns[0] ?? 1;
  const now = level.blocks[0]?.turns[0] ?? then;
  return noise.sigma * Math.sqrt(Math.min(1, then / now));
}

/** What a gain is judged in: other levels of the sweep, and the noise at one slot. */
export interface GainContext {
  method: Method;
  levels: readonly Level[];
  baseline: Pick<Sweep["baseline"], "blocks">;
}

/** Whether a level's blocks prove its gain over `against`: every look has the same one-sided error. */
export function gainOf(level: Level, sweep: GainContext): Gain {
  const { method } = sweep;
  const sound = soundBlocks(level.blocks);
  const values = sound.map(blockValue);
  const blocksOnly = studentInterval(values, method.alpha_per_look);
  if (blocksOnly === null) {
    return { state: "not_measured", interval: null, blocks_only: null, note: null };
  }
  const gate = Math.log1p(method.gain_gate);
  // A server that cannot be started by us has its slots already: nothing about them changes.
  const whole = method.residency === "attached" ? blocksOnly : product(level, values, method);
  const interval = whole ?? blocksOnly;
  const gain = { interval, blocks_only: blocksOnly, note: null };
  if (sound.length < method.blocks_min) return { ...gain, state: "not_proven" };
  if (interval.high < gate) return { ...gain, state: "rejected" };
  const turns = mean(
    sound.map((block) => logRate(block, "B", block.turns) - logRate(block, "A", block.turns)),
  );
  if (turns < 0) {
    return { ...gain, state: "rejected", note: "fewer turns an hour were answered" };
  }
  if (whole === null || whole.low <= gate) return { ...gain, state: "not_proven" };
  const rival = unbeatenRival(level, whole.mean, sweep);
  if (rival === null) return { ...gain, state: "accepted" };
  return { ...gain, state: "not_proven", note: `it is not proven better than ${rival} slots` };
}
