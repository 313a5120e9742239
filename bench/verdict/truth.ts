import { Draw } from "./random.ts";

export const MAX_SLOTS = 8;
const GATE = 1.1;
const MARGIN = 0.05;

/** A device whose truth is known. Arrays and functions are by number of slots or workers, from 1. */
export interface Truth {
  curve: "flat" | "near_gate" | "saturating" | "late" | "cliff";
  fault:
    | "none"
    | "memory"
    | "memory_busy"
    | "load"
    | "cut_silent"
    | "cut_told"
    | "flips"
    | "cache"
    | "dies";
  /** The number of slots from which on the fault shows; Infinity where there is none. */
  fault_at: number;
  /**
   * Relative standard deviation of the mean speed over 60 s (six turns at one slot). Speed in windows
   * of 10 s is independent, so longer windows are quieter by the root of their length; on top of it a
   * drift of the same size that lasts ten minutes does not get quieter.
   */
  noise: number;
  /** Share of speed lost, evenly, over the first 6000 s. */
  thermal: number;
  /** Output of n busy slots over that of one. */
  rate: readonly number[];
  /** Share of speed that each slot configured beyond the first costs by itself. */
  slot_cost: number;
  /** Share of turns whose structural answer differs with more than one busy. */
  flips: number;
  /** Standard deviation of speed from one start of the server to the next. */
  start_noise: number;
  /** Share of periods in which somebody else uses the device. */
  disturbed: number;
}

function curveOf(draw: Draw, kind: Truth["curve"]): number[] {
  const slots = Array.from({ length: MAX_SLOTS }, (_, index) => index + 1);
  if (kind === "flat") {
    const slope = draw.between(-0.03, 0.02);
    return slots.map((n) => 1 + slope * Math.log2(n));
  }
  if (kind === "near_gate") {
    const gain = draw.between(0.03, 0.17);
    return slots.map((n) => (n === 1 ? 1 : 1 + gain + 0.01 * Math.log2(n / 2)));
  }
  const exponent = draw.between(0.25, 0.95);
  const full = draw.pick([2, 3, 4, 6, 8]);
  if (kind === "saturating") return slots.map((n) => Math.min(n, full) ** exponent);
  if (kind === "late") {
    const flat = draw.between(0.97, 1.06);
    return slots.map((n) => (n === 1 ? 1 : n < 4 ? flat : flat * (n / 2) ** exponent));
  }
  const fall = draw.between(0.45, 0.8);
  const edge = draw.pick([2, 3, 4, 5, 6]);
  return slots.map((n) => (n <= edge ? n ** exponent : edge ** exponent * fall));
}

function weighted<T>(draw: Draw, table: readonly (readonly [T, number])[]): T {
  let left = draw.unit() * table.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of table) {
    left -= weight;
    if (left < 0) return item;
  }
  throw new Error("an empty table");
}

const CURVES = [
  ["flat", 25],
  ["near_gate", 10],
  ["saturating", 40],
  ["late", 10],
  ["cliff", 15],
] as const;

const FAULTS = [
  ["none", 49],
  ["memory", 8],
  ["memory_busy", 8],
  ["load", 8],
  ["cut_silent", 4],
  ["cut_told", 5],
  ["flips", 8],
  ["cache", 5],
  ["dies", 5],
] as const;

/** One device of the population. */
export function drawTruth(seed: number): Truth {
  const draw = new Draw(seed);
  const fault = weighted(draw, FAULTS);
  // Answers that lean on a cache, or on one slot behind many, do it on devices that gain nothing.
  const curve = fault === "cache" ? "flat" : weighted(draw, CURVES);
  const at = draw.pick([2, 2, 3, 4, 5, 6, 8]);
  return {
    curve,
    fault,
    fault_at: fault === "none" ? Infinity : fault === "flips" || fault === "cache" ? 2 : at,
    noise: draw.between(0.02, 0.12),
    thermal: draw.chance(0.3) ? draw.between(0.05, 0.2) : 0,
    rate: curveOf(draw, curve),
    slot_cost: draw.chance(0.3) ? draw.between(0, 0.03) : 0,
    flips: fault === "flips" ? draw.between(0, 0.2) : 0,
    start_noise: draw.between(0, 0.01),
    disturbed: draw.chance(0.2) ? 0.02 : 0,
  };
}

/** Slots that really work where so many are configured. */
export function realSlots(truth: Truth, slots: number): number {
  const cut = truth.fault === "cut_silent" || truth.fault === "cut_told";
  return cut && slots >= truth.fault_at ? 1 : slots;
}

/** True throughput, nothing cached, over that of one slot. */
export function trueRate(truth: Truth, slots: number): number {
  const busy = realSlots(truth, slots);
  return (truth.rate[busy - 1] ?? 0) * (1 - truth.slot_cost * (slots - 1));
}

function trulySafe(truth: Truth, slots: number): boolean {
  if (truth.fault === "flips") return slots < 2 || truth.flips <= MARGIN;
  if (truth.fault === "cache") return true;
  return slots < truth.fault_at;
}

/**
 * What the search gives that knows the truth: bracket levels first, then what lies between, upwards
 * or from just below the first bound downwards.
 */
function bySearch(truth: Truth, downwards: boolean): number {
  let best = 1;
  for (const slots of [2, 4, 8]) {
    if (trulySafe(truth, slots) && trueRate(truth, slots) >= GATE * trueRate(truth, best)) {
      best = slots;
    }
  }
  const between: number[] = [];
  for (let slots = best + 1; slots <= MAX_SLOTS && trulySafe(truth, slots); slots++) {
    between.push(slots);
  }
  for (const slots of downwards ? between.toReversed() : between) {
    if (slots > best && trueRate(truth, slots) >= GATE * trueRate(truth, best)) best = slots;
  }
  return best;
}

/** What the fixed rule gives that knows the truth: the smallest within 10 % of the best. */
function byFixedRule(truth: Truth): number {
  const safe = [1];
  for (let slots = 2; slots <= MAX_SLOTS && trulySafe(truth, slots); slots++) safe.push(slots);
  const best = Math.max(...safe.map((slots) => trueRate(truth, slots)));
  return safe.find((slots) => trueRate(truth, slots) * GATE >= best) ?? 1;
}

/** The number that no answer may exceed: the largest of what these ways give without any noise. */
export function trueNumber(truth: Truth): number {
  return Math.max(bySearch(truth, false), bySearch(truth, true), byFixedRule(truth));
}
