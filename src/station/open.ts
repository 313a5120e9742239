import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { configError } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import { shellWord } from "../core/shell-word.ts";
import { faultsError, type ConfigFile } from "./config-file.ts";
import { refuseTrackedInbox } from "./git-guard.ts";
import { askingUser, chainFault, modeFault, realpathIfThere } from "./guarded.ts";
import { stationId, stationRoot, type FindOptions } from "./locate.ts";
import { isInside, POLICY_NAME, userPaths, type Env } from "./paths.ts";
import { markRuns, runsFault } from "./runs-place.ts";
import type { MachineSettings, Policy } from "./schemas.ts";
import { loadMachine, loadPolicy, mergeSettings, type StationSettings } from "./settings.ts";

export interface Station {
  /** Directory of touchstoned.yaml, links resolved. */
  root: string;
  /** `NAME-HASH` of the path: a clone elsewhere is another station. */
  id: string;
  /** Outside the work tree, mode 0700. */
  state_dir: string;
  runs_dir: string;
  /** Why that is not the directory that it was (a disk that is not mounted); else null. */
  runs_fault: string | null;
  /** Whether its queue files may run unattended here. */
  trusted: boolean;
  /** Why not, and what to do about it. */
  trust_reason: string | null;
  settings: StationSettings;
  machine: MachineSettings;
}

/** Where the state and the runs of the station at `root` go; nothing is made. */
export function stationDirs(
  root: string,
  env: Env,
  machine: MachineSettings,
): { id: string; state_dir: string; runs_dir: string } {
  const id = stationId(root);
  const state_dir = join(userPaths(env).state_dir, id);
  const runs_dir =
    machine.runs_dir === undefined ? join(state_dir, "runs") : join(machine.runs_dir, id);
  return { id, state_dir, runs_dir };
}

/**
 * State and machine.yaml stay outside of every station: `git clean` must not lose a queue, and a
 * clone must bring neither a queue nor the file that says what runs.
 */
export function refuseNested(root: string, env: Env, machine_path: string): void {
  for (const [what, path] of [
    ["the state directory", userPaths(env).state_dir],
    ["machine.yaml", realpathIfThere(machine_path) ?? machine_path],
  ] as const) {
    if (!isInside(root, path)) continue;
    throw configError(
      `${root} cannot be a station: ${what} (${path}) would lie in it`,
      "Use a directory of its own for the station.",
      "nested_station",
    );
  }
}

function privateDir(path: string, env: Env): void {
  ensureDir(path, 0o700);
  const fault = modeFault(path, statSync(path), askingUser(userPaths(env).home));
  if (fault !== null) throw configError(fault, undefined, "bad_mode");
}

/** Why the queue files of the station at `root` may not run unattended; null where they may. */
export function distrust(
  root: string,
  env: Env,
  machine: ConfigFile<MachineSettings>,
): string | null {
  const listed = machine.value.trusted_stations.some((path) => realpathIfThere(path) === root);
  if (!listed) {
    return `${root} is not among the trusted_stations of ${machine.path}; run \`touchstoned init ${shellWord(root)}\`, or add it there`;
  }
  const asker = askingUser(userPaths(env).home);
  const policy = join(root, POLICY_NAME);
  return modeFault(policy, lstatSync(policy), asker) ?? chainFault(root, asker);
}

/** Both files as they are, right or wrong. */
export function loadFiles(
  root: string,
  env: Env,
): { machine: ConfigFile<MachineSettings>; policy: ConfigFile<Policy> } {
  const machine = loadMachine(env);
  return { machine, policy: loadPolicy(root, machine) };
}

/**
 * Opens the station that `findStation` finds: reads both files, refuses what is wrong with either
 * (exit 78, everything named), and a repository that brings queue files. Makes its state and runs
 * directories (0700) unless `read_only`. A station that is not trusted opens, and says so.
 */
export async function openStation(
  options: FindOptions & { read_only?: boolean },
): Promise<Station> {
  const { env } = options;
  const root = stationRoot(options);
  const { machine, policy } = loadFiles(root, env);
  const faults = [...machine.faults, ...policy.faults];
  if (faults.length > 0) throw faultsError(faults);
  refuseNested(root, env, machine.path);
  await refuseTrackedInbox(root, env);
  const dirs = stationDirs(root, env, machine.value);
  if (options.read_only !== true) {
    privateDir(dirs.state_dir, env);
    // In the empty mount point of a disk nothing is made.
    if (runsFault(dirs) === null) {
      privateDir(dirs.runs_dir, env);
      markRuns(dirs);
    }
  }
  const trust_reason = distrust(root, env, machine);
  return {
    root,
    ...dirs,
    runs_fault: runsFault(dirs),
    trusted: trust_reason === null,
    trust_reason,
    settings: mergeSettings(policy.value, machine.value),
    machine: machine.value,
  };
}
