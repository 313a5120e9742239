import { basename } from "node:path";
import {
  acquireModelLock,
  endModelLock,
  inheritedModelLock,
  loadMachineSettings,
  lockEnvironment,
  resolveLockPath,
  type ModelLock,
} from "../../station/index.ts";
import { runCommandOf } from "../run-command.ts";
import { secondsOption } from "../seconds.ts";
import type { CommandAction, CommandContext } from "../context.ts";

export interface LockRunOptions {
  command: string[];
  wait?: string;
}

async function takeLock(options: LockRunOptions, context: CommandContext): Promise<ModelLock> {
  const { path } = resolveLockPath(context.env, loadMachineSettings(context.env));
  return acquireModelLock({
    path,
    wait_s: secondsOption("--wait", options.wait, "3600") ?? 0,
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
    const descriptors = [descriptor];
    return await runCommandOf({ name: file, file, args, env, descriptors }, context);
  } finally {
    if (inherited === undefined) await endModelLock(lock);
  }
};
