import { EXIT, type ExitCode } from "../../core/errors.ts";
import { canStartAnew, packageVersion, selfCommand, startAnew } from "../../core/program.ts";
import { runForAnswer } from "../../core/tool.ts";
import { runDaemon, takeServiceManager, type OpenedStation } from "../../daemon/resident.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { secondsOption } from "../seconds.ts";

export interface DaemonCommandOptions {
  station?: string;
  json?: boolean;
  stopWithin?: string;
}

/** The station as it was opened first, for the process that this one becomes. */
const OPENED_VARIABLE = "TOUCHSTONED_OPENED";

/** Nothing that we start is to see it; one of another version may mean something else by it. */
function openedBefore(): OpenedStation | undefined {
  const text = process.env[OPENED_VARIABLE];
  delete process.env[OPENED_VARIABLE];
  if (text === undefined) return undefined;
  const { version, ...opened } = JSON.parse(text) as OpenedStation & { version: string };
  return version === packageVersion() ? opened : undefined;
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
  const stop_within_s = secondsOption("--stop-within", options.stopWithin, "120") ?? null;
  // Before the first child is started.
  const service = takeServiceManager(process.env, process.pid);
  // Of what runs: its files may be replaced meanwhile.
  const version = packageVersion();
  const opened = openedBefore() ?? (await openInChild(options, context));
  if (typeof opened === "number") return context.signal.aborted ? EXIT.done : opened;
  const stamp = (): string => new Date(clock.now_ms()).toISOString();
  let stopped = false;
  const end = await runDaemon({
    ...opened,
    clock,
    env,
    renewable: canStartAnew,
    service,
    stop_within_s,
    onSignals({ stop, rescan }) {
      context.takeSignals((signal) => {
        if (signal === "SIGHUP") return rescan();
        stopped = true;
        return stop();
      });
      // One that came while things were being opened.
      if (context.signal.aborted) stop();
    },
    say(text) {
      if (options.json === true) terminal.out(JSON.stringify({ at: stamp(), text }));
      else terminal.err(text);
    },
  });
  if (end === "outgrown" && !stopped) {
    const known = JSON.stringify({ version, ...opened });
    startAnew({ ...env, ...service?.variables, [OPENED_VARIABLE]: known });
  }
  return EXIT.done;
};
