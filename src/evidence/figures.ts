import type { LevelJudgement, Sweep, Verdict } from "../verdict/index.ts";

/** Throughput at one number of slots, with the interval that was measured. Tokens a second. */
export interface Point {
  slots: number;
  value: number;
  low: number;
  high: number;
  /** What of it stood in the way; null where nothing did. */
  breach: string | null;
}

/** `host_memory` -> `host memory`. */
export function boundName(bound: string): string {
  return bound.replaceAll("_", " ");
}

/** At one slot there is nothing to compare with: its interval is the noise of one block. */
function interval(level: LevelJudgement, sigma: number): [low: number, high: number] {
  const { ratio, ratio_low, ratio_high } = level;
  if (level.slots === 1) return [Math.exp(-sigma), Math.exp(sigma)];
  if (ratio === null || ratio <= 0) return [1, 1];
  return [(ratio_low ?? ratio) / ratio, (ratio_high ?? ratio) / ratio];
}

/** Points of the chart, in the order of slots; levels without throughput are left out. */
export function points({ levels, noise }: Verdict): Point[] {
  const found: Point[] = [];
  for (const level of levels) {
    const { slots, tokens_per_s: value, breaches } = level;
    if (value === null) continue;
    const [low, high] = interval(level, noise.sigma_log ?? 0);
    const breach = breaches[0] === undefined ? null : boundName(breaches[0].bound);
    found.push({ slots, value, low: value * low, high: value * high, breach });
  }
  return found.sort((a, b) => a.slots - b.slots);
}

/** `1,234`, `12.3`, `0.041`: three digits where they are needed. */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** Megabytes as gigabytes, of 10^9 bytes. */
export function gigabytes(megabytes: number | null | undefined): string {
  return megabytes === null || megabytes === undefined ? "-" : `${amount(megabytes / 1000)} GB`;
}

/** What ended the search, in a few words for the chart. */
export function ending(sweep: Sweep, verdict: Verdict): string {
  const { first_breach: breach } = verdict;
  return breach === null
    ? sweep.stop
    : `${boundName(breach.bound)} at ${breach.slots} ${breach.slots === 1 ? "slot" : "slots"}`;
}
