import { namedRandom, type RandomSource } from "../models/index.ts";
import type { Pool, PoolRun } from "./pool.ts";
import { stratumOf } from "./strata.ts";

export interface WindowOptions {
  seed: number;
  /** Rising lower edges of strata, in tokens. */
  strata: readonly number[];
  allow_shared_prefix: boolean;
}

/** A stretch of turns that may become a segment. */
export interface Window {
  run: PoolRun;
  start: number;
  stratum: number;
}

/** Windows of which one may be drawn at most. */
export type Choice = Window[];

export function shuffle<T>(items: readonly T[], random: RandomSource): T[] {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j] as T, mixed[i] as T];
  }
  return mixed;
}

function families(pool: Pool, length: number): PoolRun[][] {
  const byFamily = new Map<string, PoolRun[]>();
  for (const run of pool.runs) {
    if (run.turns.length < length) continue;
    byFamily.set(run.family, [...(byFamily.get(run.family) ?? []), run]);
  }
  return [...byFamily.values()];
}

/** Most segments that the pool has. */
export function capacity(pool: Pool, length: number, allow_shared_prefix: boolean): number {
  const able = families(pool, length);
  if (!allow_shared_prefix) return able.length;
  return able.flat().reduce((sum, { turns }) => sum + Math.floor(turns.length / length), 0);
}

/** Everything that can be drawn, in an order that depends on the seed. */
export function choicesOf(pool: Pool, length: number, options: WindowOptions): Choice[] {
  const random = namedRandom(options.seed, "choices");
  const windowAt = (run: PoolRun, start: number): Window => {
    const depth = run.turns[start]?.depth_tokens ?? 0;
    return { run, start, stratum: stratumOf(depth, options.strata) };
  };
  const mixed = shuffle(families(pool, length), random);
  if (!options.allow_shared_prefix) {
    return mixed.map((runs) =>
      runs.flatMap((run) => run.turns.slice(length - 1).map((_, start) => windowAt(run, start))),
    );
  }
  // Side by side, so that no turn is counted twice; a second one of a family only after all firsts.
  const perFamily = mixed.map((runs) => {
    const windows = runs.flatMap((run) => {
      const offset = Math.floor(random() * ((run.turns.length % length) + 1));
      const whole = Math.floor(run.turns.length / length);
      return Array.from({ length: whole }, (_, k) => windowAt(run, offset + k * length));
    });
    return shuffle(windows, random);
  });
  const most = perFamily.reduce((max, { length: n }) => Math.max(max, n), 0);
  return Array.from({ length: most }, (_, rank) =>
    perFamily.flatMap((windows) => windows.slice(rank, rank + 1).map((window) => [window])),
  ).flat();
}
