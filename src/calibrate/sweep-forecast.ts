import { NOISE_BLOCKS } from "./sweep-level.ts";
import { bracket } from "./sweep-search.ts";
import type { SweepState } from "./sweep-state.ts";

export interface Forecast {
  /** null = nothing was measured yet. */
  remaining_s_low: number | null;
  remaining_s_high: number | null;
  /** Steps that are done, and about how many there will be in all. */
  steps_done: number;
  steps_about: number;
}

/** Blocks after which a level is given up at the earliest. */
const SHORTEST_LEVEL = 1;
/** Requests of one comparison of answers on both sides, lead-ins and fillers among them. */
const CERTIFY_REQUESTS = 160;

/**
 * What is left to do: at best each level still ahead ends at once, at worst each needs all its blocks
 * and another bracket level follows. From the mean time of a request so far.
 */
export function forecast(state: SweepState): Forecast {
  return { ...timeLeft(state), ...stepsOf(state) };
}

/** Blocks of a level that decides itself neither at once nor at the very last. */
const USUAL_LEVEL = 5;

/** Loads, blocks at one slot, then those of the levels that are open or ahead. */
function stepsOf(state: SweepState): Pick<Forecast, "steps_done" | "steps_about"> {
  const { method, baseline, levels, ladder, steps = 0 } = state;
  const wanted = bracket(method.max_slots);
  const loads = levels.length > 0 ? 0 : Math.max(0, 1 + wanted.length - ladder.length);
  const noise = baseline.ended === null ? Math.max(1, NOISE_BLOCKS - baseline.blocks.length) : 0;
  const open = levels.filter((level) => level.ended === null);
  const begun = open.map(({ blocks }) => Math.max(1, USUAL_LEVEL - blocks.length));
  const highest = Math.max(1, ...levels.map(({ slots }) => slots));
  // After two levels that gain nothing the search ends.
  const ahead = Math.min(2, wanted.filter((slots) => slots > highest).length) * USUAL_LEVEL;
  const left = loads + noise + begun.reduce((sum, n) => sum + n, 0) + ahead;
  return { steps_done: steps, steps_about: steps + left };
}

function timeLeft(state: SweepState): Pick<Forecast, "remaining_s_low" | "remaining_s_high"> {
  const { method, baseline, levels, pace } = state;
  if (state.requests === 0 || state.measured_s === 0) {
    return { remaining_s_low: null, remaining_s_high: null };
  }
  const request_s = state.measured_s / state.requests;
  const start_s = state.starts === 0 ? 0 : state.start_s / state.starts;
  const block = 4 * pace.segments * pace.turns * request_s;
  const noiseLeft =
    baseline.ended === null ? Math.max(1, NOISE_BLOCKS - baseline.blocks.length) : 0;
  const open = levels.filter((level) => level.ended === null);
  const highest = Math.max(1, ...levels.map((level) => level.slots));
  const ahead = bracket(method.max_slots).filter((slots) => slots > highest);
  const openLow = open.reduce(
    (sum, level) => sum + Math.max(0, SHORTEST_LEVEL - level.blocks.length),
    0,
  );
  const openHigh = open.reduce((sum, level) => sum + method.blocks_max - level.blocks.length, 0);
  // A block keeps its lead-ins and fillers busy too: about as many requests again for two workers.
  const low = (noiseLeft + openLow) * block;
  const levelHigh = method.blocks_max * block * 2 + 6 * start_s;
  const high =
    (noiseLeft + openHigh * 2) * block +
    (ahead.length + 1) * levelHigh +
    CERTIFY_REQUESTS * request_s;
  return { remaining_s_low: Math.round(low), remaining_s_high: Math.round(high) };
}
