import { ladderBreaches, noiseOf } from "../verdict/index.ts";
import { MOST_REPEATS, levelStep, noiseStep, paceFor, worthwhileFactor } from "./sweep-level.ts";
import type { Sampling } from "./device.ts";
import type { Rules } from "./sweep-level.ts";
import { fitStep } from "./sweep-fit.ts";
import { accepted, bracket, ceilingOf, nextCandidate, standings } from "./sweep-search.ts";
import type { Standing } from "./sweep-search.ts";
import { emptyLevel, sweepOf } from "./sweep-state.ts";
import type { LevelState, Pace, SweepState } from "./sweep-state.ts";

/** Segments that are compared in one go before the answer is looked at. */
const CERTIFY_AT_ONCE = 20;

export interface ExtraWish {
  slots: number;
  context_per_slot: number;
}

export type Step =
  | { kind: "ladder"; slots: number }
  | { kind: "noise"; level: LevelState }
  | { kind: "pace"; pace: Pace; baseline: "keep" | "again" }
  | { kind: "open"; level: LevelState }
  | { kind: "block"; level: LevelState }
  | { kind: "arm"; level: LevelState; slots: number; segments: number }
  | { kind: "certify"; level: LevelState; segments: number }
  | { kind: "fit"; segments: readonly string[] }
  | { kind: "close"; level: LevelState; why: string }
  | { kind: "sample"; slots: number; sampling: Sampling }
  | { kind: "extra"; wish: ExtraWish }
  | { kind: "done"; complete: boolean; stop: string };

/** The others are decisions, and take no time. */
export function isMeasured({ kind }: Step): boolean {
  return !["pace", "open", "close", "done"].includes(kind);
}

export interface Wishes extends Rules {
  ladder_slots?: readonly number[] | undefined;
  extras?: readonly ExtraWish[] | undefined;
  production_sampling?: Sampling | undefined;
}

const done = (complete: boolean, stop: string): Step => ({ kind: "done", complete, stop });

/** Load only, one start for each number of slots, upwards until one breaks a bound. */
function ladderStep(state: SweepState, wishes: Wishes): Step | null {
  const wanted = wishes.ladder_slots ?? [1, ...bracket(state.method.max_slots)];
  const sweep = sweepOf(state, wishes.corpus, { complete: false, stop: "" });
  for (const slots of wanted.toSorted((a, b) => a - b)) {
    const start = state.ladder.find((one) => one.slots_asked === slots);
    if (start === undefined) return { kind: "ladder", slots };
    if (slots === 1 && !start.loaded) {
      const why = start.failure ?? "no reason is known";
      return done(false, `the model does not load with one slot: ${why}`);
    }
    if (slots > 1 && ladderBreaches(sweep, slots, wishes.bounds).length > 0) return null;
  }
  return null;
}

function baselineStep(state: SweepState, wishes: Wishes): Step | null {
  const { baseline } = state;
  if (baseline.ended !== null) return null;
  if (baseline.lost !== null) {
    return done(false, `the server was lost with one slot: ${baseline.lost}`);
  }
  if (baseline.in_row > MOST_REPEATS) {
    const why = baseline.discards.at(-1)?.reason ?? "they were disturbed";
    return done(false, `blocks at one slot were thrown away ${baseline.in_row} times: ${why}`);
  }
  const next = noiseStep(state);
  if (next.do === "block") return { kind: "noise", level: baseline };
  if (next.do === "too_noisy") return done(true, "too noisy");
  if (next.do === "lengthen") {
    const pace = paceFor(state, wishes.corpus, next.factor);
    return { kind: "pace", pace, baseline: "again" };
  }
  const noise = noiseOf(baseline.blocks, state.method);
  const factor = noise === null ? 1 : worthwhileFactor(state, noise);
  return { kind: "pace", pace: paceFor(state, wishes.corpus, factor), baseline: "keep" };
}

function openLevelStep(level: LevelState, state: SweepState, wishes: Wishes): Step {
  const next = levelStep(level, state, wishes);
  switch (next.do) {
    case "block":
      return { kind: "block", level };
    case "arm": {
      // Candidate, best, best, candidate: a steady drift takes as much from one side as from the other.
      const place = level.arms.length % 4;
      const slots = place === 0 || place === 3 ? level.slots : level.against;
      return { kind: "arm", level, slots, segments: next.segments };
    }
    case "end":
      return { kind: "close", level, why: next.why };
    default:
      return done(false, next.why);
  }
}

/** The highest accepted number whose answers are, or can still be, proven. */
function certifyStep(tried: readonly Standing[], ceiling: number, wishes: Wishes): Step | null {
  const chain = accepted(tried, ceiling);
  for (const { level, fidelity } of chain.toReversed()) {
    if (fidelity.state === "proven") return null;
    const { needed } = fidelity;
    if (needed !== null && needed <= wishes.available) {
      if (level.in_row > MOST_REPEATS) {
        return done(false, level.discards.at(-1)?.reason ?? "comparing answers was disturbed");
      }
      const missing = needed - Object.keys(level.compared).length;
      return { kind: "certify", level, segments: Math.min(CERTIFY_AT_ONCE, missing) };
    }
  }
  return null;
}

/** Blocks with answers drawn as in production, at the number that was found. */
const SAMPLED_BLOCKS = 3;

function sampleStep(
  state: SweepState,
  tried: readonly Standing[],
  ceiling: number,
  { production_sampling: sampling }: Wishes,
): Step | null {
  const done_so_far = state.sampled?.blocks.length ?? 0;
  if (sampling === undefined || done_so_far >= SAMPLED_BLOCKS) return null;
  if (state.sampled_lost > MOST_REPEATS) return null;
  const proven = accepted(tried, ceiling).filter(({ fidelity }) => fidelity.state === "proven");
  const slots = Math.max(1, ...proven.map(({ level }) => level.slots));
  return { kind: "sample", slots, sampling };
}

/**
 * What comes next, from what was measured alone: a sweep that was interrupted goes on as if it had
 * not been.
 */
export function nextStep(state: SweepState, wishes: Wishes): Step {
  const ladder = ladderStep(state, wishes) ?? fitStep(state);
  if (ladder !== null) return ladder;
  const open = state.levels.find((level) => level.ended === null);
  // A level that is open is looked at by itself; the others only matter when it is closed.
  if (open !== undefined && state.baseline.ended !== null) {
    return openLevelStep(open, state, wishes);
  }
  const tried = standings(state, wishes);
  const ceiling = ceilingOf(state, tried, wishes);
  // Two slots are out: one it is, whatever throughput would say.
  const settled = ceiling <= 2 || state.method.max_slots <= 1;
  if (!settled) {
    const noise = baselineStep(state, wishes);
    if (noise !== null) return noise;
  }
  if (!settled) {
    const next = nextCandidate(state, tried, ceiling);
    if (next !== null) return { kind: "open", level: emptyLevel(next.slots, next.against) };
    const certify = certifyStep(tried, ceiling, wishes);
    if (certify !== null) return certify;
  }
  const sampled = sampleStep(state, tried, ceiling, wishes);
  if (sampled !== null) return sampled;
  const wish = (wishes.extras ?? [])[state.extras.length];
  if (wish !== undefined) return { kind: "extra", wish };
  return done(true, whyOver(state, tried, ceiling));
}

function whyOver(state: SweepState, tried: readonly Standing[], ceiling: number): string {
  if (ceiling < Infinity) return `${ceiling} slots break a bound`;
  const { max_slots } = state.method;
  const best = Math.max(1, ...accepted(tried, ceiling).map((one) => one.level.slots));
  if (best < max_slots) return "no more slots can be expected to gain";
  return `no more than ${max_slots} slot${max_slots === 1 ? " was" : "s were"} to be tried`;
}
