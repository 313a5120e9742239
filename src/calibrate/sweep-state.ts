import { EVIDENCE_MAX_AGE_DAYS } from "../core/slot-bounds.ts";
import type {
  Agreement,
  Block,
  ClientReadings,
  CorpusSummary,
  Discard,
  Extra,
  Level,
  Method,
  Readings,
  Sampled,
  StartArm,
  StartRecord,
  Sweep,
} from "../verdict/index.ts";
import { isoTime } from "../core/clock.ts";

/** How much is sent in a period: `segments`, and of each so many `turns`. */
export interface Pace {
  segments: number;
  turns: number;
}

/** The answer to a turn at one slot, which answers under load are held against. */
interface Reference {
  structural: string | null;
  exact: string | null;
  prompt_tokens: number | null;
}

/** One number of slots while it is being measured. One slot itself has `slots` and `against` 1. */
export interface LevelState {
  slots: number;
  against: number;
  start: StartRecord | null;
  blocks: Block[];
  discards: Discard[];
  /** Blocks or arms thrown away one after the other, without a good one between. */
  in_row: number;
  /** Whether the last of them was thrown away because somebody else used the device. */
  disturbed: boolean;
  arms: StartArm[];
  /** Segments in each start arm; null until the first one. */
  arm_segments: number | null;
  /** By segment: whether any of its compared turns differs. */
  compared: Record<string, { structural: boolean; exact: boolean }>;
  readings: Readings | null;
  client: ClientReadings | null;
  /** Periods whose means are in `client`. */
  periods: number;
  lost: string | null;
  /** Turns that were longer than a slot's context here: at one slot any, else those that fit one slot. */
  too_long: number;
  /** Why no more is measured here; null while it is open. */
  ended: string | null;
  measured_from: string | null;
  measured_to: string | null;
}

/** A turn that was longer than the context of a slot on a start with `slots` slots. */
export interface TooLong {
  slots: number;
  segment_id: string;
  turn_id: string;
}

/** A sweep between two of its steps: plain JSON, saved after each of them. */
export interface SweepState {
  schema: "touchstoned/sweep-state/1";
  method: Method;
  corpus_sha256: string;
  ladder: StartRecord[];
  baseline: LevelState;
  levels: LevelState[];
  pace: Pace;
  references: Record<string, Reference>;
  /** Segments with a turn that fails at one slot already. */
  excluded: string[];
  /** What was too long on more than one slot, until one slot has tried it. */
  too_long: TooLong[];
  extras: Extra[];
  /** Null until it is begun, and where nobody wished for it. */
  sampled: Sampled | null;
  /** Blocks of it that came to nothing. */
  sampled_lost: number;
  requests: number;
  /** Steps that were measured; older states do not have it. */
  steps?: number;
  /** Starts in all, and what they and the measured periods took; for the forecast. */
  starts: number;
  start_s: number;
  measured_s: number;
}

export function emptyLevel(slots: number, against: number): LevelState {
  return {
    slots,
    against,
    start: null,
    blocks: [],
    discards: [],
    in_row: 0,
    disturbed: false,
    arms: [],
    arm_segments: null,
    compared: {},
    readings: null,
    client: null,
    periods: 0,
    lost: null,
    too_long: 0,
    ended: null,
    measured_from: null,
    measured_to: null,
  };
}

export function emptyState(method: Method, corpus: CorpusSummary): SweepState {
  return {
    schema: "touchstoned/sweep-state/1",
    method,
    corpus_sha256: corpus.sha256,
    ladder: [],
    baseline: emptyLevel(1, 1),
    levels: [],
    pace: { segments: method.segments_per_period, turns: method.turns_per_segment },
    references: {},
    excluded: [],
    too_long: [],
    extras: [],
    sampled: null,
    sampled_lost: 0,
    requests: 0,
    starts: 0,
    start_s: 0,
    measured_s: 0,
  };
}

/** Another attempt has its own repeats: what disturbed the last one may be gone. */
const again = (level: LevelState): LevelState => ({ ...level, in_row: 0 });

/**
 * What may still be used of a saved state: the same method and corpus, and nothing older than
 * `max_age_days`, since evidence is as old as its oldest step. A time in the future counts as old.
 * Everything is held against one slot, so when that has grown old the whole begins anew.
 */
export function usableState(
  saved: SweepState | undefined,
  fresh: SweepState,
  options: { now_ms: number; max_age_days?: number },
): SweepState {
  const same =
    saved !== undefined &&
    saved.schema === fresh.schema &&
    saved.corpus_sha256 === fresh.corpus_sha256 &&
    JSON.stringify(saved.method) === JSON.stringify(fresh.method);
  if (!same) return fresh;
  const limit_ms = (options.max_age_days ?? EVIDENCE_MAX_AGE_DAYS) * 86_400_000;
  const young = (time: string | null): boolean => {
    const age_ms = options.now_ms - Date.parse(time ?? isoTime(options.now_ms));
    return age_ms >= 0 && age_ms <= limit_ms;
  };
  const youngLevel = (level: LevelState): boolean =>
    young(level.measured_from) && young(level.measured_to);
  if (!youngLevel(saved.baseline)) return fresh;
  const baseline = { ...again(saved.baseline), lost: null, too_long: 0 };
  return {
    ...saved,
    baseline,
    too_long: [],
    // It is of the number that is found in the end, which may be another one now.
    sampled: null,
    sampled_lost: 0,
    ladder: saved.ladder.filter((start) => young(start.started_at)),
    levels: saved.levels.filter(youngLevel).map(again),
    extras: saved.extras.filter((extra) => young(extra.start.started_at)),
  };
}

export function agreement(level: LevelState): Agreement {
  const all = Object.values(level.compared);
  return {
    segments: all.length,
    structural_flips: all.filter((one) => one.structural).length,
    exact_flips: all.filter((one) => one.exact).length,
  };
}

const NOT_STARTED: StartRecord = {
  slots_asked: 1,
  loaded: false,
  failure: "it was not started yet",
  slots_read: null,
  context_read: null,
  load_s: null,
  memory_at_rest_mb: null,
  memory_loaded_mb: null,
  gpus_loaded: null,
  started_at: "1970-01-01T00:00:00.000Z",
};

export function levelRecord(level: LevelState): Level {
  const start = level.start ?? NOT_STARTED;
  return {
    slots: level.slots,
    against: level.against,
    start,
    blocks: level.blocks,
    discards: level.discards,
    start_arm: level.arms,
    fidelity: agreement(level),
    readings: level.readings,
    client: level.client,
    lost: level.lost,
    ...(level.too_long > 0 ? { too_long_turns: level.too_long } : {}),
    ended: level.ended ?? "",
    measured_from: level.measured_from ?? start.started_at,
    measured_to: level.measured_to ?? start.started_at,
  };
}

/** The record of a sweep as far as it has come. */
export function sweepOf(
  state: SweepState,
  corpus: CorpusSummary,
  end: { complete: boolean; stop: string },
): Sweep {
  const { baseline } = state;
  const start = baseline.start ?? state.ladder.find((one) => one.slots_asked === 1) ?? NOT_STARTED;
  return {
    method: state.method,
    corpus,
    ladder: state.ladder,
    baseline: {
      start,
      blocks: baseline.blocks,
      discards: baseline.discards,
      self_agreement: agreement(baseline),
      readings: baseline.readings,
      client: baseline.client,
      ...(baseline.too_long > 0 ? { too_long_turns: baseline.too_long } : {}),
      measured_from: baseline.measured_from ?? start.started_at,
      measured_to: baseline.measured_to ?? start.started_at,
    },
    levels: state.levels.filter((level) => level.start !== null).map((level) => levelRecord(level)),
    extras: state.extras,
    ...(state.sampled === null ? {} : { production_sampling: state.sampled }),
    requests: state.requests,
    ...end,
  };
}
