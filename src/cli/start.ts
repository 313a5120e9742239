import { systemClock } from "../core/clock.ts";
import { EXIT, TouchstonedError, type ExitCode } from "../core/errors.ts";
import type { CommandContext } from "./context.ts";
import { runProgram } from "./program.ts";
import { terminal } from "./render.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal asks for an orderly stop, the second one ends the process where it stands. */
function stopSignal(say: (text: string) => void): AbortSignal {
  const controller = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (controller.signal.aborted) {
        process.removeAllListeners(signal);
        process.kill(process.pid, signal);
        return;
      }
      say(`${signal}: stopping; once more to stop at once`);
      controller.abort(signal);
    });
  }
  return controller.signal;
}

export async function start(argv: readonly string[]): Promise<ExitCode> {
  const screen = terminal();
  const context: CommandContext = {
    terminal: screen,
    clock: systemClock,
    env: process.env,
    cwd: process.cwd(),
    signal: stopSignal((text) => screen.err(text)),
    takeSignals(handler) {
      for (const signal of STOP_SIGNALS) process.removeAllListeners(signal).on(signal, handler);
    },
  };
  try {
    return await runProgram(argv, context);
  } catch (error) {
    if (error instanceof TouchstonedError) {
      screen.err(`${screen.style("red", "error:")} ${error.message}`);
      if (error.hint !== undefined) screen.err(`${screen.style("dim", "hint:")} ${error.hint}`);
      return error.exitCode;
    }
    // Not foreseen: the stack is what a bug report needs.
    screen.err(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return EXIT.failed;
  }
}
