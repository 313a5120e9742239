import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import { canStartAnew, selfCommand, startAnew } from "../../core/program.ts";
import { runForAnswer } from "../../core/tool.ts";
import { runDaemon, type OpenedStation } from "../../daemon/resident.ts";
import type { CommandAction, CommandContext } from "../context.ts";

export interface DaemonCommandOptions {
  station?: string;
  json?: boolean;
  /** Seconds from the first signal to the second, where nobody sends one. */
  stopWithin?: string;
}

const MOST_SECONDS = 86_400;

/** Undefined where the running step has all the time that it needs. */
function stopLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= MOST_SECONDS) return seconds;
  throw usageError(`--stop-within ${text}: it is not a number of seconds up to ${MOST_SECONDS}`);
}

/** The station as it was opened first, for the process that this one becomes. */
const OPENED_VARIABLE = "TOUCHSTONED_OPENED";

/** Nothing that we start is to see it. */
function openedBefore(): OpenedStation | undefined {
  const text = process.env[OPENED_VARIABLE];
  delete process.env[OPENED_VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as OpenedStation);
}

/**
 * The station as a child has opened and checked it, or the child's exit code; it has said why. What
 * reads YAML and checks schemas would stay in our memory for weeks, and is needed for a moment.
 */
async function openInChild(
  { station }: DaemonCommandOptions,
  { cwd }: CommandContext,
): Promise<OpenedStation | ExitCode> {
  const [program, ...args] = selfCommand();
  const where = station === undefined ? [] : ["--station", station];
  const { exit_code, answer } = await runForAnswer(program, [...args, "_open-station", ...where], {
    cwd,
  });
  if (exit_code === EXIT.done) return JSON.parse(answer) as OpenedStation;
  return Object.values(EXIT).find((code) => code === exit_code) ?? EXIT.failed;
}

export const run: CommandAction<DaemonCommandOptions> = async (options, context) => {
  const { terminal, clock, env } = context;
  const stop_within_s = stopLimit(options.stopWithin);
  const opened = openedBefore() ?? (await openInChild(options, context));
  if (typeof opened === "number") return context.signal.aborted ? EXIT.done : opened;
  const stamp = (): string => new Date(clock.now_ms()).toISOString();
  let stopped = false;
  /** A service manager sends one signal, and then kills. */
  const stopOnce = (stop: () => void): void => {
    if (!stopped && stop_within_s !== undefined) {
      void clock.sleep(stop_within_s * 1000).then(() => stop());
    }
    stopped = true;
    stop();
  };
  const end = await runDaemon({
    ...opened,
    clock,
    env,
    renewable: canStartAnew,
    onSignals({ stop, rescan }) {
      context.takeSignals((signal) => {
        if (signal === "SIGHUP") return rescan();
        return stopOnce(stop);
      });
      // One that came while things were being opened.
      if (context.signal.aborted) stopOnce(stop);
    },
    say(text) {
      if (options.json === true) terminal.out(JSON.stringify({ at: stamp(), text }));
      else terminal.err(text);
    },
  });
  if (end === "outgrown" && !stopped) {
    startAnew({ ...env, [OPENED_VARIABLE]: JSON.stringify(opened) });
  }
  return EXIT.done;
};
