import type { Sweep, Verdict, LevelJudgement, Block } from "../verdict/index.ts";

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

function throughput(blocks: readonly Block[]): number | null {
  const periods = blocks
    .filter(({ discarded }) => discarded === null)
    .flatMap((block) => block.periods);
  const window_s = periods.reduce((sum, period) => sum + period.window_s, 0);
  const tokens = periods.reduce((sum, period) => sum + period.output_tokens, 0);
  return window_s > 0 ? tokens / window_s : null;
}

function levelPoint(level: LevelJudgement): Point | null {
  const { slots, tokens_per_s: value, ratio, ratio_low, ratio_high } = level;
  if (value === null) return null;
  const known = ratio !== null && ratio > 0;
  return {
    slots,
    value,
    low: known && ratio_low !== null ? (value * ratio_low) / ratio : value,
    high: known && ratio_high !== null ? (value * ratio_high) / ratio : value,
    breach: level.breaches[0] === undefined ? null : boundName(level.breaches[0].bound),
  };
}

/** Points of the chart, one slot first. At one slot the interval is the noise of one block. */
export function points(sweep: Sweep, verdict: Verdict): Point[] {
  const found: Point[] = [];
  const one = throughput(sweep.baseline.blocks);
  if (one !== null && !verdict.levels.some(({ slots }) => slots === 1)) {
    const spread = Math.exp(verdict.noise.sigma_log ?? 0);
    found.push({ slots: 1, value: one, low: one / spread, high: one * spread, breach: null });
  }
  for (const level of verdict.levels) {
    const point = levelPoint(level);
    if (point !== null) found.push(point);
  }
  return found.sort((a, b) => a.slots - b.slots);
}

/** `1,234`, `12.3`, `0.041`: three digits where they are needed. */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** `+14 %`, from a ratio. */
export function gain(ratio: number | null): string {
  if (ratio === null) return "-";
  const percent = Math.round((ratio - 1) * 100);
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent)} %`;
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
