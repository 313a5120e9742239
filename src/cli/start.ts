import { setImmediate } from "node:timers/promises";
import { systemClock } from "../core/clock.ts";
import {
  EXIT,
  TouchstonedError,
  errorMessage,
  systemErrorCode,
  type ExitCode,
} from "../core/errors.ts";
import type { CommandContext } from "./context.ts";
import { runProgram } from "./program.ts";
import { outliveReaders, terminal } from "./render.ts";

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

/** Trouble with the system in words, without a stack: no right to write, a file in the way. */
function systemTrouble(error: unknown): string | undefined {
  const code = systemErrorCode(error);
  return code !== undefined && /^E[A-Z0-9]+$/.test(code) ? errorMessage(error) : undefined;
}

export async function start(argv: readonly string[]): Promise<ExitCode> {
  const output = outliveReaders();
  const exitCode = await runToExit(argv);
  // A failed write is told one turn later.
  await setImmediate();
  // What a script asked for and never got is no success.
  return output.lostAnswer && exitCode === EXIT.done ? EXIT.failed : exitCode;
}

async function runToExit(argv: readonly string[]): Promise<ExitCode> {
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
    const trouble = systemTrouble(error);
    if (trouble !== undefined) {
      screen.err(`${screen.style("red", "error:")} ${trouble}`);
      return EXIT.failed;
    }
    // Not foreseen: the stack is what a bug report needs.
    screen.err(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return EXIT.failed;
  }
}
