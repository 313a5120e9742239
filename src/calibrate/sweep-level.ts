import {
  blockValues,
  gainOf,
  hardBreaches,
  judgeFidelity,
  noiseOf,
  pooledInterval,
  rulesOutGain,
  studentInterval,
  studentQuantile,
  variance,
} from "../verdict/index.ts";
import type { Bounds, CorpusSummary, Noise } from "../verdict/index.ts";
import { agreement, levelRecord, sweepOf } from "./sweep-state.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";

/** Blocks of one slot against itself before anything else. */
export const NOISE_BLOCKS = 3;
/** A block, or a start, that was disturbed is done again this many times. */
export const MOST_REPEATS = 2;
/** Standard deviation of a block that periods are lengthened for, where they may be. */
const SIGMA_WANTED = 0.07;
/** A corpus should have so many different periods. */
const SETS_IN_CORPUS = 4;
/** Periods grow by this at most. */
const LONGEST = 6;
/** Start arms on each side: at least, and at most. */
const ARMS = { least: 2, most: 4 } as const;
const ARM_SEGMENTS = { least: 4, most: 32 } as const;

export interface Rules {
  bounds: Bounds;
  corpus: CorpusSummary;
  /** Segments that can be compared at all. */
  available: number;
}

/** How much longer than the method's shortest a period is. */
function paceFactor(state: SweepState): number {
  const { pace, method } = state;
  return (pace.segments * pace.turns) / (method.segments_per_period * method.turns_per_segment);
}

/**
 * A period that is `factor` times the shortest: more segments, since each is an answer of its own to
 * compare, as long as a block finds new ones; then more turns of each.
 */
export function paceFor(
  state: SweepState,
  corpus: CorpusSummary,
  factor: number,
): SweepState["pace"] {
  const { segments_per_period, turns_per_segment } = state.method;
  const whole = Math.min(LONGEST, Math.max(1, Math.ceil(factor)));
  const wanted = segments_per_period * turns_per_segment * whole;
  const room = Math.max(segments_per_period, Math.floor(corpus.segments / SETS_IN_CORPUS));
  const turns = Math.max(1, Math.min(corpus.segment_length, Math.ceil(wanted / room)));
  return { turns, segments: Math.ceil(wanted / turns) };
}

export type NoiseStep =
  | { do: "block" }
  | { do: "lengthen"; factor: number }
  | { do: "go" }
  | { do: "too_noisy" };

/** What noise at one slot asks for next. */
export function noiseStep(state: SweepState): NoiseStep {
  const { baseline, method } = state;
  if (baseline.blocks.length < NOISE_BLOCKS) return { do: "block" };
  const noise = noiseOf(baseline.blocks, method);
  if (noise === null) return { do: "block" };
  if (noise.smallest <= method.gain_gate) return { do: "go" };
  const factor = paceFactor(state);
  return factor >= LONGEST ? { do: "too_noisy" } : { do: "lengthen", factor: factor * 2 };
}

/** How long periods are worth making for the levels, from the noise of the shortest ones. */
export function worthwhileFactor(state: SweepState, noise: Noise): number {
  return Math.max(1, paceFactor(state) * (noise.sigma / SIGMA_WANTED) ** 2);
}

export type LevelStep =
  | { do: "block" }
  | { do: "arm"; segments: number }
  | { do: "end"; why: string }
  | { do: "give_up_sweep"; why: string };

/**
 * Segments that a start arm needs so that the product can clear the gate: what the blocks leave of
 * the way to it is shared out. null = the blocks themselves must become surer first.
 */
function armSegments(level: LevelState, state: SweepState): number | null {
  const { method } = state;
  const values = blockValues(level.blocks);
  const spread = variance(values);
  if (spread === null) return null;
  const middle = values.reduce((sum, value) => sum + value, 0) / values.length;
  const way = middle - Math.log1p(method.gain_gate);
  const reach = studentQuantile(method.alpha_per_look, 2 * values.length);
  const left = ((0.75 * way) / reach) ** 2 - spread / values.length;
  if (left <= 0) return null;
  const needed = (spread * state.pace.segments) / left;
  return Math.min(ARM_SEGMENTS.most, Math.max(ARM_SEGMENTS.least, Math.ceil(needed)));
}

function startArmStep(level: LevelState, state: SweepState): LevelStep {
  const { method } = state;
  const each = Math.floor(level.arms.length / 2);
  const mayBlock = level.blocks.length < method.blocks_max;
  if (level.arms.length % 4 !== 0 || each < ARMS.least) {
    const segments = level.arm_segments ?? armSegments(level, state);
    if (segments === null && mayBlock) return { do: "block" };
    return { do: "arm", segments: segments ?? ARM_SEGMENTS.most };
  }
  if (mayBlock && level.blocks.length < 4 * each) return { do: "block" };
  if (each < ARMS.most) return { do: "arm", segments: level.arm_segments ?? ARM_SEGMENTS.most };
  if (mayBlock) return { do: "block" };
  return { do: "end", why: "the gain is not proven with what the slots themselves cost" };
}

/** Whether what was found so far makes any more measuring here useless; null where it does not. */
function ending(level: LevelState, state: SweepState, rules: Rules): string | null {
  const sweep = sweepOf(state, rules.corpus, { complete: false, stop: "" });
  const broken = hardBreaches(levelRecord(level), sweep, rules.bounds);
  if (broken.length > 0) return "a bound broke";
  const self = agreement(state.baseline);
  const fidelity = judgeFidelity(agreement(level), self, state.method, rules.available);
  return fidelity.state === "broken" ? "answers differ from those at one slot" : null;
}

/** What a level that is still open asks for next. */
export function levelStep(level: LevelState, state: SweepState, rules: Rules): LevelStep {
  const { method } = state;
  const over = level.start === null ? null : ending(level, state, rules);
  if (over !== null) return { do: "end", why: over };
  if (level.in_row > MOST_REPEATS) {
    const why = level.discards.at(-1)?.reason ?? "it was disturbed";
    if (level.disturbed) return { do: "give_up_sweep", why };
    return { do: "end", why: `thrown away ${level.in_row} times one after the other: ${why}` };
  }
  if (rulesOutGain(pooledInterval(level, state), method)) {
    return { do: "end", why: `a gain of ${Math.round(method.gain_sought * 100)} % is ruled out` };
  }
  if (level.blocks.length < method.blocks_min) return { do: "block" };
  const sweep = sweepOf(state, rules.corpus, { complete: false, stop: "" });
  const gain = gainOf(levelRecord(level), sweep);
  if (gain.state === "accepted") return { do: "end", why: "" };
  if (gain.state === "rejected") return { do: "end", why: "no gain" };
  const blocks = studentInterval(blockValues(level.blocks), method.alpha_per_look);
  const cleared = blocks !== null && blocks.low > Math.log1p(method.gain_gate);
  if (gain.note !== null) {
    // The gain is there; that a smaller number would not do needs more blocks.
    if (level.blocks.length < method.blocks_max) return { do: "block" };
    return { do: "end", why: gain.note };
  }
  if (cleared && method.residency === "own_start") return startArmStep(level, state);
  if (level.blocks.length < method.blocks_max) return { do: "block" };
  return { do: "end", why: "the gain is not proven" };
}
