import { table } from "../core/markdown.ts";
import type { GroupView, JudgeProgress } from "../eval/index.ts";
import { bar, type Terminal } from "./render.ts";

/** Shows progress: one line that changes where a person watches, a line a decision elsewhere. */
export function judgeProgressView(terminal: Terminal): (progress: JudgeProgress) => void {
  const say = (text: string): void => {
    if (terminal.interactive) terminal.status(text);
    else terminal.err(text);
  };
  return ({ stage, done, total, text }) => {
    if (stage === "load") say(`loading the judge ${text}`);
    else if (stage === "holistic") say(`report ${done + 1} of ${total}: ${text}`);
    else if (terminal.interactive) say(`${bar(done / total)} ${done}/${total} ${text}`);
    else say(`${done}/${total} ${text}`);
  };
}

function figure(value: number | null | undefined, unit: string): string {
  return value === null || value === undefined ? "-" : `${value.toFixed(1)}${unit}`;
}

/** The short table that a person sees at the end; the scorecard has the rest. */
export function qualityTable(groups: readonly GroupView[]): string {
  return table(
    ["model", "variant", "quality", "level", "safety", "red flags", "scored"],
    groups.map(({ model, variant, quality }) => [
      model,
      variant,
      figure(quality?.pct, " %"),
      quality?.rubric_level ?? "-",
      quality?.safety.status.replace("_", " ") ?? "-",
      quality?.red_flags.join(", ") ?? "-",
      quality === null ? "-" : `${quality.scored} of ${quality.scored + quality.unscored}`,
    ]),
  );
}
