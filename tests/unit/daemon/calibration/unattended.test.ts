import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { GAVE_WAY, TIME_OVER } from "../../../../src/calibrate/index.ts";
import { inputError } from "../../../../src/core/errors.ts";
import type { calibrateStation } from "../../../../src/daemon/calibration/calibrate-station.ts";
import { calibrateUnattended } from "../../../../src/daemon/calibration/unattended.ts";
import type { CalibrationOutcome } from "../../../../src/daemon/calibration/wish.ts";
import type { ChildLine } from "../../../../src/daemon/idle/protocol.ts";
import type { Station } from "../../../../src/station/index.ts";
import { FakeClock } from "../../../helpers/fake-clock.ts";

type Calibrate = typeof calibrateStation;
type Options = Parameters<Calibrate>[0];

const STATION = {
  settings: {
    calibration: { max_tokens: 7, budget_minutes: 2 },
    power: { keep_awake: "never" },
  },
} as unknown as Station;

function outcome(change: Partial<CalibrationOutcome>): CalibrationOutcome {
  const none = { verdict: null, key: null, evidence_path: null, commit: null, run_dir: null };
  return { result: "incomplete", runner: "llama", model: "x", stop: "", ...none, ...change };
}

/** Runs it with a measurement of the test's own; gives its lines. */
async function unattended(calibrate: Calibrate, input = new PassThrough()) {
  const lines: ChildLine[] = [];
  const exit_code = await calibrateUnattended({
    station: STATION,
    runner: "llama",
    model: "x",
    env: {},
    clock: new FakeClock(),
    signal: new AbortController().signal,
    input,
    tell: (line) => lines.push(line),
    calibrate,
  });
  return { lines, exit_code };
}

test.each<[Partial<CalibrationOutcome>, ChildLine]>([
  [{ result: "incomplete", stop: GAVE_WAY }, { event: "gave_way" }],
  [{ result: "incomplete", stop: TIME_OVER }, { event: "time_over" }],
  [
    { result: "incomplete", stop: "it broke" },
    { event: "came_to_nothing", why: "it broke" },
  ],
  [{ result: "not_requested" }, { event: "not_requested" }],
  [
    { result: "too_noisy", stop: "s" },
    { event: "came_to_nothing", why: "too noisy: s" },
  ],
  [
    { result: "measured", commit: { committed: [], waiting: 1, reason: "a merge" } },
    { event: "measured", recommended: 1, max_safe: 1, commit_waits: "a merge" },
  ],
])("its last line tells how it ended: %j", async (change, line) => {
  const { lines, exit_code } = await unattended(async () => outcome(change));
  expect([lines, exit_code]).toEqual([[line], 0]);
});

test("it measures what was asked for, as the station's settings say, and waits for no lock", async () => {
  let seen: Options | undefined;
  await unattended(async (options) => {
    seen = options;
    return outcome({ result: "not_requested" });
  });
  expect(seen?.wish).toEqual({
    runner: "llama",
    model: "x",
    max_tokens: 7,
    if_requested: true,
    budget_s: 120,
  });
  expect(seen?.lock_wait_s).toBe(0);
});

test("known trouble is a line with its code and exit code, anything else as well", async () => {
  const known = await unattended(() => Promise.reject(inputError("no corpus", "", "no_corpus")));
  const why = "no corpus";
  expect(known.lines).toEqual([{ event: "refused", code: "no_corpus", exit_code: 64, why }]);
  const odd = await unattended(() => Promise.reject(new Error("odd")));
  expect(odd.lines).toEqual([{ event: "refused", code: "unknown", exit_code: 1, why: "odd" }]);
  expect(odd.exit_code).toBe(1);
});

/** Resolves when the signal is aborted. */
async function aborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined || signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

test("a line of the daemon's lets its step end; the end of the daemon's pipe ends it at once", async () => {
  const asked = new PassThrough();
  const giving = unattended(async ({ give_way, signal }) => {
    asked.write("something else\ngive way\n");
    await aborted(give_way);
    return outcome({ stop: signal?.aborted === true ? "cut" : GAVE_WAY });
  }, asked);
  expect((await giving).lines).toEqual([{ event: "gave_way" }]);
  const pipe = new PassThrough();
  const cut = unattended(async ({ signal }) => {
    pipe.end();
    await aborted(signal);
    throw new Error("socket closed");
  }, pipe);
  expect((await cut).lines).toEqual([{ event: "gave_way" }]);
});
