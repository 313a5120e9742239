import { mean, studentQuantile } from "./student.ts";
import type { Block, Level, Method } from "./records.ts";

/** Work of two arms may differ by this share and still be the same work. */
const MIX_TOLERANCE = 0.05;
/** Share of prompt tokens from a cache may differ by this between the arms. */
const CACHE_TOLERANCE = 0.05;

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

/** Mean log ratio of turns an hour, arm B over arm A. */
export function turnsChange(blocks: readonly Block[]): number {
  return mean(
    blocks.map((block) => logRate(block, "B", block.turns) - logRate(block, "A", block.turns)),
  );
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
