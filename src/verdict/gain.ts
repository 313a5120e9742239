import { blockValues, noiseNow, noiseOf, soundBlocks, turnsChange } from "./blocks.ts";
import type { Level, Method, StartArm, Sweep } from "./records.ts";
import { mean, studentInterval, studentQuantile, variance, welchInterval } from "./student.ts";
import type { Interval } from "./student.ts";

/** One-sided error of the comparison with a smaller number that failed. */
const RIVAL_ALPHA = 0.2;
/** Where the method does not say with which error a level is given up. */
const GIVE_UP_ALPHA = 0.05;

export interface Gain {
  state: "accepted" | "rejected" | "not_proven" | "not_measured";
  /**
   * Log of the ratio, with one-sided bounds: those that the state was decided with, where the method
   * says so (`intervals`). Null = no sound block.
   */
  interval: Interval | null;
  /** The blocks alone, without what the slots themselves cost. */
  blocks_only: Interval | null;
  /** Why it is no gain although throughput may have risen; null where that is not so. */
  note: string | null;
}

/** Log of throughput of each start arm, by whose slots they have. */
function armLogs(arms: readonly StartArm[], slots: number): number[] {
  return arms
    .filter((arm) => arm.slots === slots && arm.busy_s > 0 && arm.output_tokens > 0)
    .map((arm) => Math.log(arm.output_tokens / arm.busy_s));
}

/**
 * The product that counts: what more workers give on the candidate's start, times what having its
 * slots configured costs by itself. Spread of the start arms is pooled with that of the blocks, turn
 * for turn, since two arms a side alone say next to nothing about it.
 */
function product(level: Level, values: readonly number[], method: Method): Interval | null {
  const own = armLogs(level.start_arm, level.against);
  const candidate = armLogs(level.start_arm, level.slots);
  const spread = variance(values);
  const between = [variance(own), variance(candidate)];
  const [first, second] = between;
  if (spread === null || first == null || second == null) return null;
  const sound = soundBlocks(level.blocks);
  const blockTurns = mean(sound.flatMap((block) => block.turns));
  const armTurns = mean(level.start_arm.map((arm) => arm.turns));
  const blockFreedom = values.length - 1;
  const armFreedom = own.length + candidate.length - 2;
  const armSpread =
    (blockFreedom * spread * (blockTurns / armTurns) +
      (own.length - 1) * first +
      (candidate.length - 1) * second) /
    (blockFreedom + armFreedom);
  return welchInterval(
    mean(values) + mean(candidate) - mean(own),
    [
      { variance: spread / values.length, freedom: blockFreedom },
      {
        variance: armSpread * (1 / own.length + 1 / candidate.length),
        freedom: blockFreedom + armFreedom,
      },
    ],
    method.alpha_per_look,
  );
}

/** A level's mean block value, and what its spread rests on. */
function summary(level: Level): { mean: number; count: number; squares: number } | null {
  const values = blockValues(level.blocks);
  const spread = variance(values);
  if (spread === null) return null;
  return { mean: mean(values), count: values.length, squares: (values.length - 1) * spread };
}

/**
 * A smaller number that was tried against the same best, broke nothing that its blocks show, and was
 * not accepted, which this level is not proven to beat by the gate as well: then more slots than
 * needed would be the answer. Spread is pooled over both and the blocks at one slot. null = none.
 */
function unbeatenRival(level: Level, logGain: number, sweep: GainContext): number | null {
  const { method, levels, baseline } = sweep;
  const own = summary(level);
  const noise = noiseOf(baseline.blocks, method);
  if (own === null || noise === null) return null;
  const rivals = levels.filter(
    (other) =>
      other.against === level.against &&
      other.slots < level.slots &&
      other.lost === null &&
      other.start.loaded,
  );
  for (const rival of rivals) {
    const other = summary(rival);
    if (other === null) continue;
    const freedom = own.count + other.count - 2 + noise.freedom;
    const spread =
      (own.squares + other.squares + noise.freedom * noiseNow(noise, level, baseline.blocks) ** 2) /
      freedom;
    const error = Math.sqrt(spread * (1 / own.count + 1 / other.count));
    const low = logGain - other.mean - studentQuantile(RIVAL_ALPHA, freedom) * error;
    if (low <= Math.log1p(method.gain_gate)) return rival.slots;
  }
  return null;
}

/** What a gain is judged in: other levels of the sweep, and the noise at one slot. */
export interface GainContext {
  method: Method;
  levels: readonly Level[];
  baseline: Pick<Sweep["baseline"], "blocks">;
}

/**
 * The gain with the spread of the level's blocks and of those at one slot taken together. Enough, also
 * from a single block, to give a level up; nothing is accepted by it.
 */
export function pooledInterval(
  level: Pick<Level, "blocks">,
  { method, baseline }: Pick<GainContext, "method" | "baseline">,
): Interval | null {
  const values = blockValues(level.blocks);
  const noise = noiseOf(baseline.blocks, method);
  if (values.length === 0 || noise === null) return null;
  const own = values.length - 1;
  const freedom = noise.freedom + own;
  const sigma = noiseNow(noise, level, baseline.blocks);
  const pooled = (noise.freedom * sigma ** 2 + own * (variance(values) ?? 0)) / freedom;
  const error = Math.sqrt(pooled / values.length);
  const reach = studentQuantile(method.give_up_alpha ?? GIVE_UP_ALPHA, freedom) * error;
  const middle = mean(values);
  return { mean: middle, low: middle - reach, high: middle + reach, error };
}

/** Whether a gain that is worth seeking can be excluded. */
export function rulesOutGain(interval: Interval | null, method: Method): boolean {
  return interval !== null && interval.high < Math.log1p(method.gain_sought);
}

/** Whether a level's blocks prove its gain over `against`: every look has the same one-sided error. */
function decide(level: Level, sweep: GainContext): Gain {
  const { method } = sweep;
  const sound = soundBlocks(level.blocks);
  const values = blockValues(sound);
  const blocksOnly = studentInterval(values, method.alpha_per_look);
  if (blocksOnly === null) {
    return { state: "not_measured", interval: null, blocks_only: null, note: null };
  }
  const gate = Math.log1p(method.gain_gate);
  // A server that cannot be started by us has its slots already: nothing about them changes.
  const whole = method.residency === "attached" ? blocksOnly : product(level, values, method);
  const interval = whole ?? blocksOnly;
  const gain = { interval, blocks_only: blocksOnly, note: null };
  if (sound.length < method.blocks_min) return { ...gain, state: "not_proven" };
  if (interval.high < gate) return { ...gain, state: "rejected" };
  if (turnsChange(sound) < 0) {
    return { ...gain, state: "rejected", note: "fewer turns an hour were answered" };
  }
  if (whole === null || whole.low <= gate) return { ...gain, state: "not_proven" };
  const rival = unbeatenRival(level, whole.mean, sweep);
  if (rival === null) return { ...gain, state: "accepted" };
  return { ...gain, state: "not_proven", note: `it is not proven better than ${rival} slots` };
}

/** What the level was decided with: by the pooled spread it can be given up, before or after the rest. */
function decisionInterval(gain: Gain, level: Level, sweep: GainContext): Interval | null {
  const { method } = sweep;
  if (gain.state === "accepted") return gain.interval;
  const pooled = pooledInterval(level, sweep);
  if (pooled === null) return gain.interval;
  const early = soundBlocks(level.blocks).length < method.blocks_min;
  const givenUp = rulesOutGain(pooled, method) && !rulesOutGain(gain.interval, method);
  return early || givenUp ? pooled : gain.interval;
}

/** Whether a level gains over `against`, and the interval which that rests on. */
export function gainOf(level: Level, sweep: GainContext): Gain {
  const gain = decide(level, sweep);
  if (sweep.method.intervals !== "decision") return gain;
  return { ...gain, interval: decisionInterval(gain, level, sweep) };
}
