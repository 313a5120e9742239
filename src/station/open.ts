import { lstatSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { configError } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import { slug } from "../core/ids.ts";
import { sha256Hex } from "../core/json.ts";
import { faultsError, type ConfigFile } from "./config-file.ts";
import { refuseTrackedInbox } from "./git-guard.ts";
import { askingUser, chainFault, modeFault, realpathIfThere } from "./guarded.ts";
import { isInside, pathVariable, userPaths, userStation, type Env } from "./paths.ts";
import type { MachineSettings, Policy } from "./schemas.ts";
import {
  loadMachine,
  loadPolicy,
  mergeSettings,
  POLICY_NAME,
  type StationSettings,
} from "./settings.ts";

const STATION_VARIABLE = "TOUCHSTONED_STATION";

export interface FindOptions {
  /** What `--station` says. */
  explicit?: string | undefined;
  env: Env;
  cwd: string;
}

export interface FoundStation {
  /** Absolute; links are not resolved yet. */
  path: string;
  by: "option" | "environment" | "parent" | "user";
}

export interface Station {
  /** Directory of touchstoned.yaml, links resolved. */
  root: string;
  /** `NAME-HASH` of the path: a clone elsewhere is another station. */
  id: string;
  /** Outside the work tree, mode 0700. */
  state_dir: string;
  runs_dir: string;
  /** Whether its queue files may run unattended here. */
  trusted: boolean;
  /** Why not, and what to do about it. */
  trust_reason: string | null;
  settings: StationSettings;
  machine: MachineSettings;
}

function hasPolicy(directory: string): boolean {
  // Also what is no file: a FIFO in its place is to be refused, not passed over.
  return lstatSync(join(directory, POLICY_NAME), { throwIfNoEntry: false }) !== undefined;
}

/** Like `findStation`, and says by which rule. */
export function locateStation({ explicit, env, cwd }: FindOptions): FoundStation | undefined {
  if (explicit !== undefined) return { path: resolve(cwd, explicit), by: "option" };
  const named = pathVariable(env, STATION_VARIABLE);
  if (named !== undefined) return { path: named, by: "environment" };
  for (let at = resolve(cwd); ; at = dirname(at)) {
    if (hasPolicy(at)) return { path: at, by: "parent" };
    if (dirname(at) === at) break;
  }
  const own = userStation(env);
  return hasPolicy(own) ? { path: own, by: "user" } : undefined;
}

/**
 * The station to use: `--station`, `TOUCHSTONED_STATION`, the nearest parent with a
 * touchstoned.yaml, else the user's own where there is one. Absolute; undefined where there is none.
 */
export function findStation(options: FindOptions): string | undefined {
  return locateStation(options)?.path;
}

/** The real directory of a station. Throws a configuration error where it is none. */
export function stationRoot(options: FindOptions): string {
  const found = findStation(options);
  if (found === undefined) {
    throw configError(
      `no station: neither ${options.cwd} nor a directory above it has a ${POLICY_NAME}`,
      "Make one with `touchstoned init`, or name one with --station DIR.",
      "no_station",
    );
  }
  const root = realpathIfThere(found);
  if (root === undefined || !hasPolicy(root)) {
    throw configError(
      `${found} is no station: it has no ${POLICY_NAME}`,
      `Make it one with \`touchstoned init ${found}\`.`,
      "no_station",
    );
  }
  return root;
}

/** Two clones, and one clone that was moved, never share a state. */
function stationId(root: string): string {
  return `${slug(basename(root))}-${sha256Hex(root).slice(0, 12)}`;
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
    return `${root} is not among the trusted_stations of ${machine.path}; run \`touchstoned init ${root}\`, or add it there`;
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
    privateDir(dirs.runs_dir, env);
  }
  const trust_reason = distrust(root, env, machine);
  return {
    root,
    ...dirs,
    trusted: trust_reason === null,
    trust_reason,
    settings: mergeSettings(policy.value, machine.value),
    machine: machine.value,
  };
}
