import { basename } from "node:path";
import { constants } from "node:os";
import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import { runAttached } from "../../core/process.ts";
import {
  acquireModelLock,
  endModelLock,
  inheritedModelLock,
  loadMachineSettings,
  lockEnvironment,
  resolveLockPath,
  type ModelLock,
} from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";

export interface LockRunOptions {
  command: string[];
  wait?: string;
}

/** As shells say it. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
const BY_SIGNAL = 128;

function waitSeconds(text: string | undefined): number {
  const wait_s = Number(text ?? 0);
  if (text?.trim() === "" || !Number.isFinite(wait_s) || wait_s < 0) {
    throw usageError(`--wait: "${text ?? ""}" is not a number of seconds`, "Example: --wait 3600");
  }
  return wait_s;
}

async function takeLock(options: LockRunOptions, context: CommandContext): Promise<ModelLock> {
  const { path } = resolveLockPath(context.env, loadMachineSettings(context.env));
  return acquireModelLock({
    path,
    wait_s: waitSeconds(options.wait),
    holder: {
      purpose: `lock run ${basename(options.command[0] ?? "").slice(0, 100)}`,
      run_id: null,
    },
    clock: context.clock,
    signal: context.signal,
    onWait: ({ text }) => context.terminal.err(`waiting for the model lock ${path}, ${text}`),
  });
}

export const run: CommandAction<LockRunOptions> = async (options, context) => {
  const [file = "", ...args] = options.command;
  // Inside a holder of ours the lock is there already; to wait for it would be to wait for us.
  const inherited = inheritedModelLock(context.env);
  const lock = inherited ?? (await takeLock(options, context));
  try {
    const { env, descriptor } = lockEnvironment(lock);
    const ended = await runAttached(file, args, {
      env,
      descriptors: [descriptor],
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
  } finally {
    if (inherited === undefined) await endModelLock(lock);
  }
};
