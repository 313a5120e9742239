import { gainWords, rangeWords } from "../core/gain-words.ts";
import type { CalibrationEvent, CalibrationOutcome } from "../daemon/index.ts";
import { duration, type Terminal } from "./render.ts";

type Progress = Extract<CalibrationEvent, { kind: "progress" }>["progress"];

/** `12 to 40 min left`, as far as that can be told. */
function remaining({ remaining_s_low: low, remaining_s_high: high }: Progress): string {
  if (low === null || high === null) return "";
  if (high <= 0) return "";
  return low === high ? `, ${duration(high)} left` : `, ${duration(low)} to ${duration(high)} left`;
}

function gain({ ratio, ratio_low, ratio_high }: Progress): string {
  if (ratio === null) return "";
  const range =
    ratio_low === null || ratio_high === null ? "" : ` (${rangeWords(ratio_low, ratio_high)})`;
  return `, ${gainWords(ratio)}${range}`;
}

/** What is done next, with what is known so far and what remains, in one line. */
export function progressLine(progress: Progress): string {
  const { message, block, blocks_max } = progress;
  const place =
    block === null || blocks_max === null ? "" : `, block ${block} of at most ${blocks_max}`;
  return `${message}${place}${gain(progress)}${remaining(progress)}`;
}

/** Shows events: one line that is redrawn where a person watches, else a line for each step. */
export function calibrationView(terminal: Terminal): (event: CalibrationEvent) => void {
  let last = "";
  return (event) => {
    if (event.kind === "note") return terminal.err(`note: ${event.text}`);
    const line = progressLine(event.progress);
    if (terminal.interactive) return terminal.status(line);
    if (line === last) return undefined;
    last = line;
    return terminal.err(line);
  };
}

function measuredText({ verdict, evidence_path, commit, model }: CalibrationOutcome): string[] {
  if (verdict === null) return [];
  const { recommended, max_safe, first_breach, reason } = verdict;
  const breach =
    first_breach === null
      ? ""
      : `; ${first_breach.slots} slots break a bound: ${first_breach.reason}`;
  const lines = [
    `${model}: ${recommended} at once is best here, ${max_safe} at once is safe${breach}`,
    reason,
    `evidence: ${evidence_path ?? "none"}`,
  ];
  if (commit !== null && commit.waiting > 0) {
    lines.push(`not committed yet: ${commit.reason ?? "tried again later"}`);
  }
  return lines;
}

/** The outcome for people. */
export function outcomeText(outcome: CalibrationOutcome): string[] {
  const { result, runner, model, verdict, stop } = outcome;
  switch (result) {
    case "measured":
      return measuredText(outcome);
    case "not_requested":
      return [`nobody asked for a measurement of ${model} with ${runner}`];
    case "too_noisy":
      return [
        `${model}: too noisy for an answer, so it stays 1`,
        verdict?.reason ?? "",
        "Try again when nothing else runs on this machine.",
      ];
    case "incomplete":
      return [`${model}: not finished: ${stop}`, "Run the same command again to go on."];
    default:
      return result satisfies never;
  }
}
