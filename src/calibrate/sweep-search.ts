import { gainOf, hardBreaches, judgeFidelity, ladderBreaches } from "../verdict/index.ts";
import type { Gain } from "../verdict/index.ts";
import type { Rules } from "./sweep-level.ts";
import { agreement, levelRecord, sweepOf } from "./sweep-state.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";

/** Levels that fail to beat the best, one after the other, before the search goes no higher. */
const MOST_FAILURES = 2;
/** Below this share of the best, throughput falls: the peak may lie in between. */
const FALLING = 0.95;

/** 2, 4, 8, ... and the last one allowed. */
export function bracket(max_slots: number): number[] {
  const levels: number[] = [];
  for (let slots = 2; slots < max_slots; slots *= 2) levels.push(slots);
  return max_slots > 1 ? [...levels, max_slots] : levels;
}

export interface Standing {
  level: LevelState;
  gain: Gain;
  /** The bound that it broke is about its answers: numbers beside it will hardly be better. */
  answers: boolean;
  broken: boolean;
  fidelity: ReturnType<typeof judgeFidelity>;
}

/** Where each level stands that has been tried. */
export function standings(state: SweepState, rules: Rules): Standing[] {
  const sweep = sweepOf(state, rules.corpus, { complete: false, stop: "" });
  const self = agreement(state.baseline);
  return state.levels
    .filter((level) => level.start !== null)
    .map((level) => {
      const record = levelRecord(level);
      const fidelity = judgeFidelity(record.fidelity, self, state.method, rules.available);
      const answers = fidelity.state === "broken";
      const broken = answers || hardBreaches(record, sweep, rules.bounds).length > 0;
      return { level, gain: gainOf(record, sweep), answers, broken, fidelity };
    });
}

/** The first number of slots that is known to break a bound; Infinity where none is. */
export function ceilingOf(state: SweepState, tried: readonly Standing[], rules: Rules): number {
  const sweep = sweepOf(state, rules.corpus, { complete: false, stop: "" });
  const steps = state.ladder
    .map((start) => start.slots_asked)
    .filter((slots) => slots > 1 && ladderBreaches(sweep, slots, rules.bounds).length > 0);
  const levels = tried.filter((one) => one.broken).map((one) => one.level.slots);
  return Math.min(Infinity, ...steps, ...levels);
}

/** Levels that beat the best of their time and broke nothing, lowest first. */
export function accepted(tried: readonly Standing[], ceiling: number): Standing[] {
  const counting = new Set([1]);
  return tried.filter(({ level, gain, broken }) => {
    const counts =
      level.slots < ceiling && !broken && gain.state === "accepted" && counting.has(level.against);
    if (counts) counting.add(level.slots);
    return counts;
  });
}

/**
 * Whether numbers between the best and the level above it may still be better than the best. The
 * first look between two steps of the bracket is always taken: behind a flat step there may be a peak.
 */
function worthFilling(best: number, above: Standing | undefined, max_slots: number): boolean {
  if (above === undefined || above.broken) return above?.answers !== true;
  if (bracket(max_slots).includes(above.level.slots)) return true;
  const ratio = above.gain.blocks_only?.mean;
  return above.level.against === best && ratio !== undefined && ratio < Math.log(FALLING);
}

/** The next number of slots to try, against the best so far; null where the search is over. */
export function nextCandidate(
  state: SweepState,
  tried: readonly Standing[],
  ceiling: number,
): { slots: number; against: number } | null {
  const against = Math.max(1, ...accepted(tried, ceiling).map((one) => one.level.slots));
  const above = tried
    .filter((one) => one.level.slots > against && one.level.slots < ceiling)
    .sort((a, b) => a.level.slots - b.level.slots);
  const was = (slots: number): boolean => above.some((one) => one.level.slots === slots);
  if (above.length < MOST_FAILURES) {
    const highest = above.at(-1)?.level.slots ?? against;
    const up = bracket(state.method.max_slots).find((slots) => slots > highest);
    if (up !== undefined && up < ceiling) return { slots: up, against };
    // A flat step under a bound: what lies just below the bound is the other level to look at.
    const last = ceiling - 1;
    if (above.length === 1 && last > highest && last < Infinity && !was(last)) {
      return { slots: last, against };
    }
  }
  const top = Math.min(ceiling, above[0]?.level.slots ?? Infinity);
  if (top === Infinity || top - against < 2) return null;
  const atTop = tried.find((one) => one.level.slots === top);
  return worthFilling(against, atTop, state.method.max_slots)
    ? { slots: Math.floor((against + top) / 2), against }
    : null;
}
