import { expect, test } from "vitest";
import { calibrationView, outcomeText, progressLine } from "../../../src/cli/calibration-view.ts";
import {
  parseBudget,
  parseExtra,
  parseSampling,
} from "../../../src/cli/commands/slots-calibrate.ts";
import type { CalibrationOutcome } from "../../../src/daemon/index.ts";
import type { Terminal } from "../../../src/cli/render.ts";

test.each([
  ["2h", 7200],
  ["90m", 5400],
  ["90min", 5400],
  ["1h30m", 5400],
  ["1h 30m", 5400],
  ["45s", 45],
  ["1.5h", 5400],
])("a budget of %s is %i seconds", (text, seconds) => {
  expect(parseBudget(text)).toBe(seconds);
});

test.each(["", "2", "h", "2 hours", "-2h", "2h!", "0s"])("%j is no budget", (text) => {
  expect(() => parseBudget(text)).toThrow(/is no length of time/);
});

test("extras are numbers of slots at a context", () => {
  expect(parseExtra("2@32768")).toEqual({ slots: 2, context_per_slot: 32_768 });
  for (const text of ["2", "2@", "@2", "0@512", "2@a", "2@512@3"]) {
    expect(() => parseExtra(text), text).toThrow(/--extra/);
  }
});

const PROGRESS = {
  phase: "level",
  slots: 2,
  against: 1,
  block: 3,
  blocks_max: 12,
  ratio: 1.234,
  ratio_low: 0.98,
  ratio_high: 1.4,
  requests: 90,
  message: "2 slots against 1 slot",
  remaining_s_low: 240,
  remaining_s_high: 3600,
  steps_done: 4,
  steps_about: 9,
} as const;

test.each([
  [undefined, undefined],
  [true, { temperature: null }],
  ["0.7", { temperature: 0.7 }],
] as const)("production sampling of %j is %j", (text, sampling) => {
  expect(parseSampling(text)).toEqual(sampling);
});

test("a temperature that is none is refused", () => {
  for (const text of ["hot", "-1", "9", ""]) {
    expect(() => parseSampling(text)).toThrow(/is not a temperature/);
  }
});

test("a line of progress has what is known and what remains", () => {
  expect(progressLine(PROGRESS)).toBe(
    "2 slots against 1 slot, block 3 of at most 12, +23 % (-2.0 % to +40.0 %), 4 min 00 s to 1 h 00 min left",
  );
  const nothing = { ratio: null, block: null, remaining_s_low: null, remaining_s_high: null };
  expect(progressLine({ ...PROGRESS, ...nothing })).toBe("2 slots against 1 slot");
});

test("where nobody watches each line is said once", () => {
  const said: string[] = [];
  const terminal = { interactive: false, err: (text: string) => said.push(text) };
  const show = calibrationView(terminal as unknown as Terminal);
  show({ kind: "progress", progress: PROGRESS });
  show({ kind: "progress", progress: PROGRESS });
  show({ kind: "note", text: "hello" });
  expect(said).toEqual([progressLine(PROGRESS), "note: hello"]);
});

const OUTCOME: CalibrationOutcome = {
  result: "incomplete",
  runner: "house",
  model: "tiny",
  verdict: null,
  stop: "the time allowed ran out",
  key: null,
  evidence_path: null,
  commit: null,
  run_dir: null,
};

test("every outcome is said in words with what to do", () => {
  expect(outcomeText(OUTCOME).join("\n")).toContain("Run the same command again to go on.");
  expect(outcomeText({ ...OUTCOME, result: "too_noisy" }).join("\n")).toContain("stays 1");
  expect(outcomeText({ ...OUTCOME, result: "not_requested" })[0]).toContain("nobody asked");
  const verdict = {
    recommended: 2,
    max_safe: 3,
    first_breach: { slots: 4, bound: "host_memory", reason: "memory is full" },
    reason: "2: gain",
  } as unknown as NonNullable<CalibrationOutcome["verdict"]>;
  const commit = { committed: [], waiting: 1, reason: "the index is dirty" };
  const measured = outcomeText({
    ...OUTCOME,
    result: "measured",
    verdict,
    commit,
    evidence_path: "e.json",
  });
  expect(measured).toEqual([
    "tiny: 2 at once is best here, 3 at once is safe; 4 slots break a bound: memory is full",
    "2: gain",
    "evidence: e.json",
    "not committed yet: the index is dirty",
  ]);
});
