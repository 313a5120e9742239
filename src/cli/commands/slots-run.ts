import { existsSync } from "node:fs";
import { basename } from "node:path";
import { endingWithUs } from "../../core/death-signal.ts";
import type { ExitCode } from "../../core/errors.ts";
import { onPath } from "../../core/on-path.ts";
import {
  inheritsLease,
  loadMachineSettings,
  resolveLockPath,
  takeLease,
  type Lease,
} from "../../station/index.ts";
import { runCommandOf } from "../run-command.ts";
import { secondsOption } from "../seconds.ts";
import { askAllowed } from "../slots-answer.ts";
import type { CommandAction, CommandContext } from "../context.ts";

export interface SlotsRunOptions {
  command: string[];
  station?: string;
  runner?: string;
  model?: string;
  wait?: string;
}

async function takeSlot(options: SlotsRunOptions, context: CommandContext): Promise<Lease> {
  const { station, runner, model } = options;
  const question = { station, runner, model };
  const { path } = resolveLockPath(context.env, loadMachineSettings(context.env));
  const wait_s = secondsOption("--wait", options.wait, "600") ?? 0;
  const first = await askAllowed(question, context);
  // Nothing was chosen, and not because 1 was declared: its owner thinks that something else counts.
  if (first.runner === null && first.declared !== 1) {
    context.terminal.err(`slots: ${first.allowed} at once: ${first.reason}`);
    for (const note of first.notes) context.terminal.err(`note: ${note}`);
  }
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

async function runIn(
  [name = "", ...words]: readonly string[],
  lease: Lease | null,
  context: CommandContext,
): Promise<ExitCode> {
  // The helper that ends it with us would say in words of its own that there is no such program.
  const there = name.includes("/") ? existsSync(name) : onPath(name, context.env["PATH"] ?? "");
  const [file, args] = there ? endingWithUs(name, words) : ([name, words] as const);
  return runCommandOf({ name, file, args, env: { ...lease?.env }, descriptors: [] }, context);
}

export const run: CommandAction<SlotsRunOptions> = async (options, context) => {
  // Inside a slot of ours there is one already; to wait for another could be to wait for us.
  if (inheritsLease(context.env)) return runIn(options.command, null, context);
  const lease = await takeSlot(options, context);
  try {
    return await runIn(options.command, lease, context);
  } finally {
    lease.end();
  }
};
