import { MOST_REPEATS } from "./sweep-level.ts";
import type { Served } from "./sweep-period.ts";
import type { SweepState, TooLong } from "./sweep-state.ts";

// A prompt that no slot can hold is never left out: the sweep would be one of the shorter prompts. Where
// one slot cannot hold it either, nothing can be measured with this corpus and this context. Where one
// slot can, the number of slots on which it was too long breaks a bound.

/** Turns of a period, lead-ins among them, that were longer than their slot's context. */
function tooLong({ result }: Served, slots: number): TooLong[] {
  return result.turns
    .filter((turn) => turn.too_long === true)
    .map(({ segment_id, turn_id }) => ({ slots, segment_id, turn_id }));
}

/** Writes down what was too long on a start with `slots` slots; true where anything was. */
export function noteTooLong(state: SweepState, slots: number, served: readonly Served[]): boolean {
  const found = served.flatMap((one) => tooLong(one, slots));
  if (slots === 1) state.baseline.too_long += found.length;
  else state.too_long.push(...found);
  return found.length > 0;
}

/** Everything that was too long on more slots fitted one: those numbers break a bound. */
export function blameLevels(state: SweepState): void {
  for (const level of state.levels) {
    level.too_long += state.too_long.filter((turn) => turn.slots === level.slots).length;
  }
  state.too_long = [];
}

export type FitStep =
  | { kind: "fit"; segments: readonly string[] }
  | { kind: "done"; complete: false; stop: string };

const stop = (why: string): FitStep => ({ kind: "done", complete: false, stop: why });

/** What turns that were too long ask for next; null where there are none. */
export function fitStep(state: SweepState): FitStep | null {
  const { baseline, too_long, method } = state;
  if (baseline.too_long > 0) {
    return stop(
      `the corpus does not fit the context: ${method.context_per_slot} tokens for a slot are too few`,
    );
  }
  if (too_long.length === 0) return null;
  if (baseline.lost !== null) return stop(`the server was lost with one slot: ${baseline.lost}`);
  if (baseline.in_row > MOST_REPEATS) {
    return stop(baseline.discards.at(-1)?.reason ?? "one slot was disturbed");
  }
  return { kind: "fit", segments: [...new Set(too_long.map((turn) => turn.segment_id))] };
}
