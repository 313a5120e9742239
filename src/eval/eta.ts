import type { CellKey } from "./records.ts";
import { percentile } from "./stats.ts";

/** Seconds until the last cell ends: half of such estimates lie inside. */
export interface EtaRange {
  low_s: number;
  high_s: number;
}

/**
 * Estimates the rest from what answers took so far: a prompt's own times where it was asked before
 * (another variant, another repeat), all times where it was not. Failed requests end early and say
 * nothing, so they are not counted.
 */
export class EtaEstimator {
  readonly #all: number[] = [];
  readonly #byPrompt = new Map<string, number[]>();

  record(prompt_id: string, duration_s: number): void {
    this.#all.push(duration_s);
    const own = this.#byPrompt.get(prompt_id) ?? [];
    own.push(duration_s);
    this.#byPrompt.set(prompt_id, own);
  }

  /** null until two answers are there. */
  range(remaining: readonly CellKey[]): EtaRange | null {
    if (this.#all.length < 2) return null;
    let [low_s, high_s] = [0, 0];
    for (const { prompt_id } of remaining) {
      const times = this.#byPrompt.get(prompt_id) ?? this.#all;
      low_s += percentile(times, 0.25) ?? 0;
      high_s += percentile(times, 0.75) ?? 0;
    }
    return { low_s, high_s };
  }
}
