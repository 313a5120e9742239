import { constants } from "node:os";
import { EXIT, type ExitCode } from "../core/errors.ts";
import { runAttached } from "../core/process.ts";
import type { CommandContext } from "./context.ts";

/** As shells say it. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
const BY_SIGNAL = 128;

interface RunOptions {
  /** How the person called it, for complaints. */
  name: string;
  file: string;
  args: readonly string[];
  env: Record<string, string>;
  descriptors: readonly number[];
}

/** Runs a person's command in our place and gives its own exit status, as a shell would. */
export async function runCommandOf(
  { name, file, args, env, descriptors }: RunOptions,
  { signal: asked, terminal }: CommandContext,
): Promise<ExitCode> {
  const ended = await runAttached(file, args, {
    env,
    descriptors,
    signal: asked,
    terminal: process.stdin.isTTY,
  });
  if (ended.spawn_error !== null) {
    terminal.err(`cannot run ${name}: ${ended.spawn_error}`);
    return (ended.spawn_error_code === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE) as ExitCode;
  }
  const signal = ended.signal as NodeJS.Signals | null;
  const status = signal === null ? ended.exit_code : BY_SIGNAL + constants.signals[signal];
  // The command's own status, whatever it is: it need not be one of ours.
  return (status ?? EXIT.failed) as ExitCode;
}
