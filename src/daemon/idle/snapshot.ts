import { isoTime } from "../../core/clock.ts";
import type { End } from "./history.ts";
import type { ChildEnd, ChildProgress } from "./protocol.ts";

/** What the daemon does in its idle hours, for `status`; part of `daemon.json`. */
export interface IdleSnapshot {
  doing: IdleDoing | null;
  /** Open requests that are not worked at, and why. */
  waiting: { key: string; runner: string | null; model: string | null; why: string }[];
}

export interface IdleDoing {
  kind: "calibrate" | "housekeep";
  key: string | null;
  runner: string | null;
  model: string | null;
  /** RFC 3339 */
  since: string;
  /** What is measured just now; null before anything is. */
  message: string | null;
  steps_done: number;
  steps_about: number;
  left_s: { low: number; high: number } | null;
  /** Why it is to end at its next step boundary. */
  giving_way: string | null;
}

export const IDLE: IdleSnapshot = { doing: null, waiting: [] };

export function startText(kind: IdleDoing["kind"], now_ms: number): IdleDoing {
  return {
    kind,
    key: null,
    runner: null,
    model: null,
    since: isoTime(now_ms),
    message: null,
    steps_done: 0,
    steps_about: 0,
    left_s: null,
    giving_way: null,
  };
}

export function progressOf(doing: IdleDoing, progress: ChildProgress): IdleDoing {
  const { message, steps_done, steps_about, low_s, high_s } = progress;
  const left_s = low_s === null || high_s === null ? null : { low: low_s, high: high_s };
  return { ...doing, message, steps_done, steps_about, left_s };
}

/** `4 of about 9 steps` */
function stepsText({ steps_done, steps_about }: IdleDoing): string {
  return `${steps_done} of about ${steps_about} steps`;
}

/** Minutes are as much as a forecast of hours is worth. */
export function minutesText(seconds: number): string {
  return `${Math.max(1, Math.round(seconds / 60))} min`;
}

/** One line on what is done in idle hours. `duration` writes seconds for a person. */
export function doingText(doing: IdleDoing, duration: (seconds: number) => string): string {
  if (doing.kind === "housekeep") return "housekeeping: commits evidence, removes what is stale";
  const of = `measuring slots of ${doing.model ?? "?"}`;
  if (doing.message === null) return `${of}: about to begin`;
  const { left_s, giving_way } = doing;
  const left = left_s === null ? "" : `, about ${duration((left_s.low + left_s.high) / 2)} left`;
  const gives = giving_way === null ? "" : `; gives way after this step, ${giving_way}`;
  return `${of}: ${stepsText(doing)}${left}${gives}`;
}

/** One line on how a calibration ended. */
export function endText(end: {
  model: string;
  how: End;
  said: ChildEnd | null;
  doing: IdleDoing | null;
  /** When it is tried again, RFC 3339. */
  until: string | null;
}): string {
  const { model, how, said, doing, until } = end;
  const of = `slots of ${model}`;
  if (how.kind === "measured" && said?.event === "measured") {
    const { recommended, max_safe, commit_waits } = said;
    const git = commit_waits === null ? "" : `; not committed yet: ${commit_waits}`;
    return `${of}: ${recommended} at once is best, ${max_safe} is safe${git}`;
  }
  if (how.kind === "measured") return `${of}: measured`;
  if (how.kind !== "quiet") {
    const again = how.kind === "budget" ? "goes on" : "tried again";
    return `${of} are not measured: ${how.why}${until === null ? "" : `; ${again} at ${until}`}`;
  }
  if (said?.event === "not_requested") return `${of}: nobody asks for them any more`;
  const steps = doing === null || doing.message === null ? "" : ` after ${stepsText(doing)}`;
  return `${of}: gave way${steps}; goes on when nothing waits`;
}
