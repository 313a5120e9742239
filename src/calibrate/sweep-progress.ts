import { gainOf } from "../verdict/index.ts";
import type { Forecast } from "./sweep-forecast.ts";
import type { Step } from "./sweep-plan.ts";
import { levelRecord } from "./sweep-state.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";

export interface SweepProgress extends Forecast {
  phase: "ladder" | "noise" | "level" | "starts" | "answers" | "extras" | "done";
  /** Slots that are being tried, and the number that they are held against. */
  slots: number;
  against: number;
  /** The block that comes next, and how many there are at most; null where there are none. */
  block: number | null;
  blocks_max: number | null;
  /** Throughput over that of `against` so far, with its bounds; null = nothing to tell yet. */
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  requests: number;
  /** One line for people. */
  message: string;
}

const slotsOf = (slots: number): string => (slots === 1 ? "1 slot" : `${slots} slots`);

type Told = Pick<SweepProgress, "phase" | "slots" | "against" | "block" | "message">;

const of = (level: LevelState): Pick<Told, "slots" | "against" | "block"> => ({
  slots: level.slots,
  against: level.against,
  block: level.blocks.length + 1,
});

const ratioOf = (log: number | undefined): number | null =>
  log !== undefined && Number.isFinite(log) ? Math.exp(log) : null;

function told(state: SweepState, step: Step): Told {
  const last = state.levels.at(-1);
  const none = { slots: last?.slots ?? 1, against: last?.against ?? 1, block: null };
  switch (step.kind) {
    case "ladder":
      return {
        phase: "ladder",
        slots: step.slots,
        against: 1,
        block: null,
        message: `loading with ${slotsOf(step.slots)}`,
      };
    case "noise":
      return { phase: "noise", ...of(step.level), message: "noise at 1 slot" };
    case "pace": {
      const { segments, turns } = step.pace;
      const message = `periods of ${segments} segments, ${turns} turn${turns === 1 ? "" : "s"} each`;
      return { phase: "noise", ...of(state.baseline), message };
    }
    case "open":
    case "block":
    case "close": {
      const { slots, against } = step.level;
      const why = step.kind === "close" && step.why !== "" ? `: ${step.why}` : "";
      const message = `${slotsOf(slots)} against ${slotsOf(against)}${why}`;
      return { phase: "level", ...of(step.level), message };
    }
    case "arm": {
      const message = `what ${slotsOf(step.level.slots)} cost by themselves: ${step.level.against} busy on ${slotsOf(step.slots)}`;
      return { phase: "starts", ...of(step.level), message };
    }
    case "certify":
      return {
        phase: "answers",
        ...of(step.level),
        message: `answers with ${slotsOf(step.level.slots)} busy against those at 1`,
      };
    case "fit": {
      const message = "whether one slot can hold what was too long";
      return { phase: "answers", ...none, message };
    }
    case "sample": {
      const { slots } = step;
      const message = `${slotsOf(slots)} with answers drawn as in production, not judged`;
      return { phase: "extras", slots, against: 1, block: null, message };
    }
    case "extra": {
      const { slots, context_per_slot } = step.wish;
      const message = `${slotsOf(slots)} of ${context_per_slot} tokens`;
      return { phase: "extras", slots, against: slots, block: null, message };
    }
    default:
      return { phase: "done", ...none, message: step.stop };
  }
}

/** What a person may want to see before `step` is done. */
export function progressOf(state: SweepState, step: Step, ahead: Forecast): SweepProgress {
  const level = "level" in step && step.level.slots > 1 ? step.level : undefined;
  const sweep = { method: state.method, levels: [], baseline: { blocks: state.baseline.blocks } };
  const gain = level === undefined ? null : gainOf(levelRecord(level), sweep).interval;
  const what = told(state, step);
  return {
    ...what,
    blocks_max: what.block === null ? null : state.method.blocks_max,
    ratio: ratioOf(gain?.mean),
    ratio_low: ratioOf(gain?.low),
    ratio_high: ratioOf(gain?.high),
    requests: state.requests,
    ...ahead,
  };
}
