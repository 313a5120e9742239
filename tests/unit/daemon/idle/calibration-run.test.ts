import { describe, expect, test } from "vitest";
import {
  CalibrationRun,
  sortEnd,
  type CalibrationChild,
  type ChildHooks,
  type ChildOutcome,
} from "../../../../src/daemon/idle/calibration-run.ts";
import type { ChildEnd } from "../../../../src/daemon/idle/protocol.ts";
import { FakeClock } from "../../../helpers/fake-clock.ts";

const EXIT = { exit_code: 0, signal: null, spawn_error: null };
const AROUND = { cut: null, asked: false, configuration: "1" };
const MINUTE_MS = 60_000;
const REQUEST = { key: "x", runner: "llama", model: "x", reason: "asked for", asked_ms: 0 };

function said(end: ChildEnd | null, more: Partial<ChildOutcome> = {}): ChildOutcome {
  return { said: end, exit: EXIT, stderr: "", ...more };
}

function refused(exit_code: number): ChildOutcome {
  return said({ event: "refused", code: "c", exit_code, why: "so it is" });
}

describe("how a calibration ended", () => {
  test.each([
    [75, "not_now"],
    [3, "cannot"],
    [64, "cannot"],
    [78, "cannot"],
    [2, "cannot"],
    [69, "failed"],
    [1, "failed"],
  ])("refused with exit code %i is %s", (exit_code, kind) => {
    expect(sortEnd(refused(exit_code), AROUND)).toMatchObject({ kind, code: "c", why: "so it is" });
  });

  test("measured, given way, out of time, nothing", () => {
    const measured = {
      event: "measured",
      recommended: 2,
      max_safe: 2,
      commit_waits: null,
    } as const;
    expect(sortEnd(said(measured), AROUND).kind).toBe("measured");
    expect(sortEnd(said({ event: "gave_way" }), { ...AROUND, asked: true }).kind).toBe("quiet");
    expect(sortEnd(said({ event: "not_requested" }), AROUND).kind).toBe("quiet");
    expect(sortEnd(said({ event: "time_over" }), AROUND).kind).toBe("budget");
    const nothing = { event: "came_to_nothing", why: "too noisy" } as const;
    expect(sortEnd(said(nothing), AROUND)).toMatchObject({ kind: "failed", why: "too noisy" });
  });

  test("giving way that nobody asked for is somebody else's doing, and waits", () => {
    expect(sortEnd(said({ event: "gave_way" }), AROUND)).toMatchObject({ kind: "not_now" });
  });

  test("without a last word it crashed, with what it wrote last; unless we ended it", () => {
    const crash = said(null, {
      exit: { exit_code: null, signal: "SIGKILL", spawn_error: null },
      stderr: "loading\nout of memory\n",
    });
    expect(sortEnd(crash, AROUND)).toMatchObject({
      kind: "failed",
      why: "its process ended with signal SIGKILL: out of memory",
    });
    const stopped = { ...AROUND, cut: { why: "stopped", fault: false } };
    expect(sortEnd(crash, stopped)).toEqual({ kind: "quiet" });
    const hung = { ...AROUND, cut: { why: "it hung", fault: true } };
    expect(sortEnd(crash, hung)).toMatchObject({ kind: "failed", why: "it hung" });
    const none = said(null, { exit: { ...EXIT, spawn_error: "ENOENT" } });
    expect(sortEnd(none, AROUND)).toMatchObject({ why: "its process ended with ENOENT" });
  });
});

/** A child that does what it is told to, and a run that watches it. */
function watched() {
  const clock = new FakeClock();
  const hard = new AbortController();
  const done: string[] = [];
  let hooks: ChildHooks | undefined;
  let resolve: (outcome: ChildOutcome) => void = () => undefined;
  const child: CalibrationChild = {
    giveWay: () => void done.push("give way"),
    async end() {
      done.push("end");
      resolve(said(null));
    },
    ended: new Promise((settle) => (resolve = settle)),
  };
  const none = (): void => undefined;
  const run = new CalibrationRun(clock, hard.signal);
  const start = (_: object, given: ChildHooks): CalibrationChild => {
    hooks = given;
    return child;
  };
  const outcome = run.run(start, REQUEST, { onTree: none, onProgress: none, onNote: none }, "1");
  const pass = async (minutes: number): Promise<void> => {
    for (let n = 0; n < minutes; n += 1) {
      clock.advance(MINUTE_MS);
      await new Promise((settle) => setImmediate(settle));
    }
  };
  const progress = { message: "", steps_done: 1, steps_about: 9, low_s: null, high_s: null };
  return {
    run,
    outcome,
    done,
    pass,
    hard,
    finish: (end: ChildEnd) => resolve(said(end)),
    heard: () => hooks?.onProgress(progress),
  };
}

describe("a calibration is watched", () => {
  test("asked once to give way, it has half an hour for its step", async () => {
    const { run, done, pass, outcome, heard } = watched();
    run.giveWay();
    run.giveWay();
    await pass(29);
    heard();
    expect(done).toEqual(["give way"]);
    await pass(3);
    expect(done).toEqual(["give way", "end"]);
    expect((await outcome).how).toMatchObject({ kind: "failed", code: "cut" });
  });

  test("one that says nothing for six hours is ended; one that goes on is not", async () => {
    const quiet = watched();
    await quiet.pass(359);
    expect(quiet.done).toEqual([]);
    quiet.heard();
    await quiet.pass(359);
    expect(quiet.done).toEqual([]);
    await quiet.pass(3);
    expect(quiet.done).toEqual(["end"]);
    expect((await quiet.outcome).how).toMatchObject({ why: "nothing was heard of it for 6 h" });
  });

  test("with the daemon's hard stop it ends at once, and that is nobody's fault", async () => {
    const { hard, done, outcome } = watched();
    hard.abort();
    expect((await outcome).how).toEqual({ kind: "quiet" });
    expect(done).toEqual(["end"]);
  });

  test("what it says at its end is what it came to", async () => {
    const { run, finish, outcome } = watched();
    run.giveWay();
    finish({ event: "gave_way" });
    expect(await outcome).toEqual({ how: { kind: "quiet" }, said: { event: "gave_way" } });
  });
});
