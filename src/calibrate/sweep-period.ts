import { mergeClient, mergeReadings } from "./sweep-readings.ts";
import { isText } from "./signature.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";
import type { PeriodResult, Segment, TurnOutcome } from "./device.ts";
import { isoTime } from "../core/clock.ts";
import type { Period } from "../verdict/index.ts";

/** Counts of prompt tokens may differ by this where a nonce makes prompts cold: it is cut up anew. */
const NONCE_TOKENS = 16;

export interface Served {
  workers: number;
  result: PeriodResult;
  /** Outcomes of the counted turns; those of the lead-in are left out. */
  counted: TurnOutcome[];
}

export function servedOf(
  workers: number,
  counted: readonly Segment[],
  result: PeriodResult,
): Served {
  const ids = new Set(counted.flatMap((segment) => segment.turns.map((turn) => turn.id)));
  return { workers, result, counted: result.turns.filter((turn) => ids.has(turn.turn_id)) };
}

/**
 * The figures of a period. All workers are busy from the lead-in to the end, so the durations of the
 * counted turns, divided by the workers in flight, are the time which this work took (Little's law):
 * neither a long last turn nor the fillers beside it change the figure.
 */
export function periodOf({ workers, result, counted }: Served): Period {
  const answered = counted.filter((turn) => turn.ok);
  const sum = (pick: (turn: TurnOutcome) => number | null): number =>
    answered.reduce((total, turn) => total + (pick(turn) ?? 0), 0);
  const inFlight = Math.min(1, Math.max(0.1, result.client.in_flight_share ?? 1));
  const duration_s = sum((turn) => turn.ended_s - turn.started_s);
  const known = answered.every((turn) => turn.cached_tokens !== null);
  return {
    workers,
    turns: answered.length,
    busy_s: Number((duration_s / (workers * inFlight)).toFixed(4)),
    prompt_tokens: sum((turn) => turn.prompt_tokens),
    output_tokens: sum((turn) => turn.output_tokens),
    cached_tokens: known ? sum((turn) => turn.cached_tokens) : null,
  };
}

/** Remembers the first answer to each turn at one slot. */
export function addReferences(state: SweepState, turns: readonly TurnOutcome[]): void {
  for (const turn of turns) {
    if (!turn.ok) continue;
    const { structural, exact, prompt_tokens } = turn;
    state.references[turn.turn_id] ??= { structural, exact, prompt_tokens };
  }
}

/** An answer that says nothing about itself agrees with nothing. */
const differs = (a: string | null, b: string | null): boolean => a === null || a !== b;

/**
 * Holds answers against those at one slot, where there are any, and notes which segments differ. Tool
 * calls are the same with the same names of tools and arguments; a text is, as the method says, when
 * its words are or already when it is a text of the same kind.
 */
export function compareAnswers(
  level: LevelState,
  turns: readonly TurnOutcome[],
  { references, method }: Pick<SweepState, "references" | "method">,
): void {
  for (const turn of turns) {
    const reference = references[turn.turn_id];
    if (!turn.ok || reference === undefined) continue;
    const before = level.compared[turn.segment_id] ?? { structural: false, exact: false };
    const exact = differs(turn.exact, reference.exact);
    const other_text = exact && method.text_answers === "same" && isText(turn.structural);
    level.compared[turn.segment_id] = {
      structural: before.structural || other_text || differs(turn.structural, reference.structural),
      exact: before.exact || exact,
    };
  }
}

/** Turns whose prompt was shorter than at one slot. */
function cutPrompts(state: SweepState, turns: readonly TurnOutcome[]): number {
  const tolerance = state.method.cold === "nonce" ? NONCE_TOKENS : 0;
  return turns.filter((turn) => {
    const before = state.references[turn.turn_id]?.prompt_tokens ?? null;
    return (
      before !== null &&
      turn.prompt_tokens !== null &&
      Math.abs(turn.prompt_tokens - before) > tolerance
    );
  }).length;
}

/** Adds what a period at this level's own number of workers read. `forgiven` turns fail at one slot too. */
export function addReadings(
  state: SweepState,
  level: LevelState,
  served: Served,
  forgiven: number,
): void {
  const { readings, client } = served.result;
  const cut = cutPrompts(state, served.counted);
  const cutRead = readings.cut_prompts === null ? null : Math.max(readings.cut_prompts, cut);
  const own = {
    ...readings,
    failed_turns: Math.max(0, readings.failed_turns - forgiven),
    cut_prompts: cutRead ?? (cut > 0 ? cut : null),
  };
  level.readings = mergeReadings(level.readings, own);
  level.client = mergeClient(level.client, level.periods, client);
  level.periods += 1;
}

export function stamp(level: LevelState, ended_at_ms: number, started_at?: string): void {
  level.measured_to = isoTime(ended_at_ms);
  level.measured_from ??= started_at ?? level.measured_to;
}
