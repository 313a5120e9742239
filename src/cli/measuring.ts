import { join } from "node:path";
import { usageError } from "../core/errors.ts";
import {
  acquireModelLock,
  findStation,
  inheritedModelLock,
  loadMachineSettings,
  openStation,
  requireRuns,
  resolveLockPath,
  type MachineSettings,
  type ModelLock,
} from "../station/index.ts";
import type { CommandContext } from "./context.ts";

/** What a command that measures by itself needs to know about where it runs. */
export interface Workplace {
  machine: MachineSettings;
  /** Where new bundles go where nothing else is said. */
  runs_dir: string;
  min_free_disk_mb: number;
}

/** The station around us, or none: what measures alone needs only machine.yaml. */
export async function openWorkplace(
  station: string | undefined,
  { env, cwd }: CommandContext,
): Promise<Workplace> {
  const found = { explicit: station, env, cwd };
  if (findStation(found) === undefined) {
    const machine = loadMachineSettings(env);
    const { min_free_disk_mb } = machine.limits;
    return { machine, runs_dir: join(cwd, "runs"), min_free_disk_mb };
  }
  const opened = await openStation(found);
  requireRuns(opened);
  const { machine, runs_dir, settings } = opened;
  return { machine, runs_dir, min_free_disk_mb: settings.limits.min_free_disk_mb };
}

export interface LockWish {
  /** Seconds as they were typed. */
  wait: string;
  purpose: string;
  run_id: string;
}

/** The model lock: handed over by our parent and proven, or taken by us. */
export async function takeModelLock(
  machine: MachineSettings,
  wish: LockWish,
  { env, clock, signal, terminal }: CommandContext,
): Promise<ModelLock> {
  const wait_s = Number(wish.wait);
  if (wish.wait.trim() === "" || !Number.isFinite(wait_s) || wait_s < 0) {
    throw usageError(`--lock-wait: "${wish.wait}" is not a number of seconds`);
  }
  const inherited = inheritedModelLock(env);
  if (inherited !== undefined) return inherited;
  const { path } = resolveLockPath(env, machine);
  return acquireModelLock({
    path,
    wait_s,
    holder: { purpose: wish.purpose, run_id: wish.run_id },
    clock,
    signal,
    onWait: ({ text }) => terminal.err(`waiting for the model lock ${path}, ${text}`),
  });
}
