import { NOISE_BLOCKS } from "./sweep-level.ts";
import { bracket } from "./sweep-search.ts";
import type { SweepState } from "./sweep-state.ts";

export interface Forecast {
  /** null = nothing was measured yet. */
  remaining_s_low: number | null;
  remaining_s_high: number | null;
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
