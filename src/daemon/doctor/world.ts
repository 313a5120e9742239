import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { runCommand } from "../../core/process.ts";
import { homeOf } from "../../core/user-dirs.ts";
import {
  checkConfig,
  inspectStation,
  loadMachineSettings,
  stationDirs,
  toolEnv,
  type ConfigReport,
  type Env,
  type Inspection,
  type MachineSettings,
} from "../../station/index.ts";
import { stateFiles, type StateFiles } from "../files.ts";
import { darwinMounts, linuxMounts, type Mount } from "./mounts.ts";

export interface DoctorOptions {
  /** What `--station` says. */
  explicit?: string | undefined;
  env: Env;
  cwd: string;
  clock: Clock;
  platform?: NodeJS.Platform;
}

/** A station that was found, right or wrong, with where its things are. */
export interface FoundStation extends Inspection {
  files: StateFiles;
  runs_dir: string;
}

/** What the checks are given their part of. Nothing here was made, and nothing was started but git. */
export interface World {
  env: Env;
  platform: NodeJS.Platform;
  clock: Clock;
  /** null where HOME is none. */
  home: string | null;
  /** Everything that is wrong with both files; null where they could not even be looked for. */
  config: ConfigReport | null;
  /** null where there is none, or none that can be looked at. */
  station: FoundStation | null;
  /** null where machine.yaml is wrong or missing, which is told by `config`. */
  machine: MachineSettings | null;
  /** null where it cannot be told. */
  mounts: Mount[] | null;
  /** What was thrown while looking for all this. */
  trouble: unknown[];
}

async function readMounts(platform: NodeJS.Platform, env: Env): Promise<Mount[] | null> {
  if (platform === "linux") return linuxMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  if (platform !== "darwin") return null;
  const run = await runCommand("/sbin/mount", [], {
    timeout_s: 10,
    env: toolEnv(env),
    inherit_env: false,
  });
  return run.ok ? darwinMounts(run.stdout) : null;
}

function foundStation(inspection: Inspection, env: Env): FoundStation {
  const { runs_dir } = stationDirs(inspection.root, env, inspection.machine);
  return { ...inspection, files: stateFiles(inspection.state_dir), runs_dir };
}

/** Looks around, and throws nothing: what cannot be found out is null, and why is in `trouble`. */
export async function lookAround(options: DoctorOptions): Promise<World> {
  const { env, clock, platform = process.platform } = options;
  const trouble: unknown[] = [];
  const attempt = async <T>(look: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await look();
    } catch (error) {
      trouble.push(error);
      return null;
    }
  };
  const home = await attempt(() => homeOf(env));
  const config = home === null ? null : await attempt(() => checkConfig(options));
  const inspection = config?.station == null ? null : await attempt(() => inspectStation(options));
  return {
    env,
    platform,
    clock,
    home: home === null ? null : realOr(home),
    config,
    station: inspection === null ? null : foundStation(inspection, env),
    machine: config !== null && existsSync(config.machine_config) ? machineOr(env) : null,
    mounts: await attempt(() => readMounts(platform, env)),
    trouble,
  };
}

function machineOr(env: Env): MachineSettings | null {
  try {
    return loadMachineSettings(env);
  } catch {
    return null;
  }
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The nearest directory that is there, links resolved: `path` may have yet to be made. */
export function nearestThere(path: string): string {
  let at = path;
  while (!existsSync(at) && at !== join(at, "..")) at = join(at, "..");
  return realOr(at);
}
