import type { Answer, Trial } from "./simulate.ts";

export interface Row {
  what: string;
  goal: string;
  /** Shares and ratios; null where no device is of the kind. */
  method: number | null;
  fixed: number | null;
  /** How many devices the figure is of: method, fixed rule. */
  of: [number, number];
  /** Whether the method meets the goal; null where there is none. */
  met: boolean | null;
}

const share = (items: readonly Answer[], is: (answer: Answer) => boolean): number | null =>
  items.length === 0 ? null : items.filter(is).length / items.length;

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return null;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

type Pick = (answers: readonly Answer[]) => number | null;

function row(
  trials: readonly Trial[],
  what: string,
  limit: number | null,
  among: (trial: Trial, answer: Answer) => boolean,
  figure: Pick,
): Row {
  const of = (side: "method" | "fixed"): Answer[] =>
    trials.filter((trial) => among(trial, trial[side])).map((trial) => trial[side]);
  const [method, fixed] = [of("method"), of("fixed")];
  const value = figure(method);
  return {
    what,
    goal: limit === null ? "-" : `<= ${limit}`,
    method: value,
    fixed: figure(fixed),
    of: [method.length, fixed.length],
    met: limit === null ? null : value !== null && value <= limit,
  };
}

const wrong: Pick = (answers) => share(answers, (answer) => answer.wrong_high);
const missed: Pick = (answers) => share(answers, (answer) => answer.missed);
const price: Pick = (answers) => median(answers.map((answer) => answer.price));

/** Figures that have goals, then those that explain them. */
export function rowsOf(trials: readonly Trial[]): Row[] {
  const quiet = (trial: Trial): boolean => trial.truth.noise <= 0.08;
  const ended = (answer: Answer): boolean => answer.result === "measured";
  const sound = (trial: Trial): boolean => trial.truth.fault === "none";
  return [
    row(trials, "answer above the true safe number", 0.01, () => true, wrong),
    row(
      trials,
      "gain of 20 % or more missed, noise <= 8 %",
      0.05,
      (t) => t.gains && quiet(t),
      missed,
    ),
    row(
      trials,
      "requests where the answer is 1, median",
      0.6,
      (_, a) => ended(a) && a.number === 1,
      price,
    ),
    row(
      trials,
      "requests where it is more, median",
      1.5,
      (_, a) => ended(a) && a.number > 1,
      price,
    ),
    row(trials, "  answer above, noise <= 8 %", null, quiet, wrong),
    row(trials, "  answer above, noise > 8 %", null, (t) => !quiet(t), wrong),
    row(
      trials,
      "  missed, noise <= 8 %, answers never change",
      null,
      (t) => t.gains && quiet(t) && t.truth.fault !== "flips",
      missed,
    ),
    row(trials, "  missed, noise > 8 %", null, (t) => t.gains && !quiet(t), missed),
    row(
      trials,
      "  missed, noise <= 8 %, no fault",
      null,
      (t) => t.gains && quiet(t) && sound(t),
      missed,
    ),
    row(
      trials,
      "  requests, answer 1 for lack of gain",
      null,
      (t, a) => ended(a) && a.number === 1 && sound(t),
      price,
    ),
    row(
      trials,
      "  requests, answer 1, noise <= 4 %, no fault",
      null,
      (t, a) => ended(a) && a.number === 1 && sound(t) && t.truth.noise <= 0.04,
      price,
    ),
    row(
      trials,
      "  requests, more than 1, noise <= 4 %",
      null,
      (t, a) => ended(a) && a.number > 1 && t.truth.noise <= 0.04,
      price,
    ),
    row(
      trials,
      "  requests, more than 1, noise <= 8 %",
      null,
      (t, a) => ended(a) && a.number > 1 && quiet(t),
      price,
    ),
    row(
      trials,
      "  too noisy",
      null,
      () => true,
      (a) => share(a, (x) => x.result === "too_noisy"),
    ),
    row(
      trials,
      "  not finished (disturbed again and again)",
      null,
      () => true,
      (a) => share(a, (x) => x.result === "incomplete"),
    ),
  ];
}

const shown = (value: number | null, what: string): string => {
  if (value === null) return "-";
  return what.includes("requests") ? value.toFixed(2) : `${(value * 100).toFixed(2)} %`;
};

export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ what, goal, method, fixed, of, met }) => [
    what,
    goal === "-" ? "" : what.includes("requests") ? goal : `<= ${Number(goal.slice(3)) * 100} %`,
    shown(method, what),
    met === null ? "" : met ? "met" : "MISSED",
    shown(fixed, what),
    of.join(" / "),
  ]);
  const lines = [["", "goal", "method", "", "fixed rule", "devices"], ...cells];
  const widths = lines[0]?.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths?.[0] ?? 0) : cell.padStart(widths?.[column] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
