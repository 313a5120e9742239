import type { Clock } from "../core/clock.ts";
import type { ExitCode } from "../core/errors.ts";
import type { Terminal } from "./render.ts";

/** What every command gets beside its own options. */
export interface CommandContext {
  terminal: Terminal;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP; the second one ends the process. */
  signal: AbortSignal;
  /** From now on the command itself sees to SIGINT, SIGTERM and SIGHUP, each time they come. */
  takeSignals(handler: (signal: NodeJS.Signals) => void): void;
}

/** A command: options in, exit code out. It throws a `TouchstonedError` for known trouble. */
export type CommandAction<Options> = (
  options: Options,
  context: CommandContext,
) => Promise<ExitCode>;
