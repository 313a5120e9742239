import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { GAVE_WAY, TIME_OVER, type SweepProgress } from "../../calibrate/index.ts";
import type { Clock } from "../../core/clock.ts";
import { errorMessage, EXIT, TouchstonedError, type ExitCode } from "../../core/errors.ts";
import { keepAwake } from "../../probes/index.ts";
import type { Station } from "../../station/index.ts";
import { GIVE_WAY_LINE, type ChildEnd, type ChildLine } from "../idle/protocol.ts";
import { calibrateStation } from "./calibrate-station.ts";
import type { CalibrationOutcome } from "./wish.ts";

export interface UnattendedOptions {
  station: Station;
  runner: string;
  model: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
  /** From the daemon: lines while it lives, then its end. */
  input: Readable;
  tell: (line: ChildLine) => void;
  /** The measurement itself; another one in tests. */
  calibrate?: typeof calibrateStation;
}

function progressLine(progress: SweepProgress): ChildLine {
  const { message, steps_done, steps_about, remaining_s_low, remaining_s_high } = progress;
  return {
    event: "progress",
    message,
    steps_done,
    steps_about,
    low_s: remaining_s_low,
    high_s: remaining_s_high,
  };
}

/** The last line about an outcome. `asked`: somebody wanted it to end. */
function endLine({ result, stop, verdict, commit }: CalibrationOutcome, asked: boolean): ChildEnd {
  switch (result) {
    case "measured": {
      const { recommended = 1, max_safe = 1 } = verdict ?? {};
      const waits = commit !== null && commit.waiting > 0;
      const commit_waits = waits ? (commit.reason ?? "no reason is known") : null;
      return { event: "measured", recommended, max_safe, commit_waits };
    }
    case "not_requested":
      return { event: "not_requested" };
    case "too_noisy":
      return { event: "came_to_nothing", why: `too noisy: ${verdict?.reason ?? stop}` };
    case "incomplete":
      break;
  }
  if (stop === GAVE_WAY || asked) return { event: "gave_way" };
  if (stop === TIME_OVER) return { event: "time_over" };
  return { event: "came_to_nothing", why: stop };
}

/** What the daemon wants: `give_way` by a line of its, `gone` when its pipe ends. */
function listen(input: Readable): { give_way: AbortSignal; gone: AbortSignal } {
  const [give_way, gone] = [new AbortController(), new AbortController()];
  const lines = createInterface({ input });
  lines.on("line", (line) => {
    if (line === GIVE_WAY_LINE) give_way.abort();
  });
  lines.on("close", () => gone.abort());
  return { give_way: give_way.signal, gone: gone.signal };
}

/**
 * One calibration for the daemon, in a process of its own: it may crash, it may take memory, and it
 * ends with the daemon, whose pipe closes. Never throws for what is known: the last line tells.
 */
export async function calibrateUnattended(options: UnattendedOptions): Promise<ExitCode> {
  const { station, runner, model, env, clock, tell, calibrate = calibrateStation } = options;
  const { calibration, power } = station.settings;
  const { give_way, gone } = listen(options.input);
  const signal = AbortSignal.any([options.signal, gone]);
  const { max_tokens, budget_minutes } = calibration;
  const awake = power.keep_awake === "while_running" ? await keepAwake({ clock }) : null;
  try {
    const outcome = await calibrate({
      station,
      wish: {
        runner,
        model,
        max_tokens,
        if_requested: true,
        ...(budget_minutes === undefined ? {} : { budget_s: budget_minutes * 60 }),
      },
      env,
      clock,
      lock_wait_s: 0,
      signal,
      give_way,
      onEvent: (event) =>
        tell(
          event.kind === "note"
            ? { event: "note", text: event.text }
            : progressLine(event.progress),
        ),
    });
    tell(endLine(outcome, signal.aborted));
    return EXIT.done;
  } catch (error) {
    if (signal.aborted) tell({ event: "gave_way" });
    else tell(refusedLine(error));
    return EXIT.failed;
  } finally {
    await awake?.release();
  }
}

function refusedLine(error: unknown): ChildEnd {
  const why = errorMessage(error);
  const known = error instanceof TouchstonedError;
  return {
    event: "refused",
    code: known ? error.code : "unknown",
    exit_code: known ? error.exitCode : EXIT.failed,
    why,
  };
}
