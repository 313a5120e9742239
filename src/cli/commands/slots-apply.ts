import { join } from "node:path";
import { EXIT, usageError } from "../../core/errors.ts";
import { applySlots, requireMeasured, undoSlots } from "../../daemon/index.ts";
import {
  acquireModelLock,
  openStation,
  resolveLockPath,
  resolveRunner,
  userPaths,
} from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { askAllowed } from "../slots-answer.ts";

export interface SlotsApplyOptions {
  slots?: string;
  undo?: boolean;
  dryRun?: boolean;
  force?: boolean;
  runner?: string;
  model?: string;
  station?: string;
}

const MOST_SLOTS = 64;

function wish({ slots, undo }: SlotsApplyOptions): number | "undo" {
  if (undo === true && slots === undefined) return "undo";
  const number = Number(slots);
  if (undo !== true && Number.isInteger(number) && number >= 1 && number <= MOST_SLOTS) {
    return number;
  }
  throw usageError(
    slots === undefined
      ? "how many slots?"
      : `"${slots}" is no number of slots from 1 to ${MOST_SLOTS}, or goes with --undo`,
    "Example: touchstoned slots apply 4, or touchstoned slots apply --undo",
  );
}

/** Nobody may be at work on a server that is started again. */
async function quiet<T>(context: CommandContext, path: string, work: () => Promise<T>): Promise<T> {
  const lock = await acquireModelLock({
    path,
    wait_s: 0,
    holder: { purpose: "slots apply", run_id: null },
    clock: context.clock,
    signal: context.signal,
  });
  try {
    return await work();
  } finally {
    lock.release();
  }
}

export const run: CommandAction<SlotsApplyOptions> = async (options, context) => {
  const { terminal, env, cwd, clock } = context;
  const wanted = wish(options);
  const station = await openStation({ explicit: options.station, env, cwd });
  const { local_models, defaults } = station.settings;
  const name = options.runner ?? local_models.runner ?? defaults.runner;
  const runner = resolveRunner(station.machine, name);
  const { home, config_dir } = userPaths(env);
  // The user's units are where the configuration is: beside our own directory there.
  const config = process.platform === "darwin" ? join(home, ".config") : join(config_dir, "..");
  const applying = {
    state_dir: station.state_dir,
    runner,
    control: { env, user_dir: join(config, "systemd", "user") },
    clock,
    dry_run: options.dryRun === true,
    say: (text: string) => terminal.out(text),
  };
  const { path } = resolveLockPath(env, station.machine);
  const change = async (): Promise<string> => {
    if (wanted === "undo") {
      const done = await undoSlots(applying);
      return done
        ? `runner ${runner.name} has its slots as before`
        : "nothing was changed by this program";
    }
    if (options.force !== true) {
      const question = { station: station.root, runner: runner.name, model: options.model };
      requireMeasured(wanted, await askAllowed(question, context));
    }
    await applySlots(wanted, applying);
    return `runner ${runner.name} was started again with ${wanted === 1 ? "1 slot" : `${wanted} slots`}`;
  };
  const said = applying.dry_run ? await change() : await quiet(context, path, change);
  if (!applying.dry_run) terminal.out(said);
  return EXIT.done;
};
