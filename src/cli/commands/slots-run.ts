import { constants } from "node:os";
import { basename } from "node:path";
import { endingWithUs } from "../../core/death-signal.ts";
import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import { runAttached } from "../../core/process.ts";
import {
  inheritsLease,
  loadMachineSettings,
  resolveLockPath,
  takeLease,
  type Lease,
} from "../../station/index.ts";
import { askAllowed } from "../slots-answer.ts";
import type { CommandAction, CommandContext } from "../context.ts";

export interface SlotsRunOptions {
  command: string[];
  station?: string;
  runner?: string;
  model?: string;
  wait?: string;
}

/** As shells say it. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
const BY_SIGNAL = 128;

function waitSeconds(text: string | undefined): number {
  const wait_s = Number(text ?? 0);
  if (text?.trim() === "" || !Number.isFinite(wait_s) || wait_s < 0) {
    throw usageError(`--wait: "${text ?? ""}" is not a number of seconds`, "Example: --wait 600");
  }
  return wait_s;
}

async function takeSlot(options: SlotsRunOptions, context: CommandContext): Promise<Lease> {
  const { station, runner, model } = options;
  const question = { station, runner, model };
  const { path } = resolveLockPath(context.env, loadMachineSettings(context.env));
  const wait_s = waitSeconds(options.wait);
  const first = await askAllowed(question, context);
  return takeLease({
    path,
    // Asked again each time: it may have changed while we waited.
    allowed: () => askAllowed(question, context),
    holder: {
      purpose: `slots run ${basename(options.command[0] ?? "").slice(0, 100)}`,
      runner: first.runner,
      model: first.model,
    },
    wait_s,
    clock: context.clock,
    signal: context.signal,
    onWait: (why) => context.terminal.err(`waiting for a slot: ${why}`),
  });
}

async function runCommand(
  [file = "", ...args]: readonly string[],
  lease: Lease | null,
  context: CommandContext,
): Promise<ExitCode> {
  const [program, words] = endingWithUs(file, args);
  const ended = await runAttached(program, words, {
    env: { ...lease?.env },
    descriptors: [],
    signal: context.signal,
    terminal: process.stdin.isTTY,
  });
  if (ended.spawn_error !== null) {
    context.terminal.err(`cannot run ${file}: ${ended.spawn_error}`);
    return (ended.spawn_error_code === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE) as ExitCode;
  }
  const signal = ended.signal as NodeJS.Signals | null;
  const status = signal === null ? ended.exit_code : BY_SIGNAL + constants.signals[signal];
  // The command's own status, whatever it is: it need not be one of ours.
  return (status ?? EXIT.failed) as ExitCode;
}

export const run: CommandAction<SlotsRunOptions> = async (options, context) => {
  // Inside a slot of ours there is one already; to wait for another could be to wait for us.
  if (inheritsLease(context.env)) return runCommand(options.command, null, context);
  const lease = await takeSlot(options, context);
  try {
    return await runCommand(options.command, lease, context);
  } finally {
    lease.end();
  }
};
