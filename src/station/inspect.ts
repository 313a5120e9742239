import { dirname, join } from "node:path";
import { errorMessage, TouchstonedError } from "../core/errors.ts";
import { faultText } from "./config-file.ts";
import { realpathIfThere } from "./guarded.ts";
import { stationRoot, type FindOptions } from "./locate.ts";
import { distrust, loadFiles, refuseNested, stationDirs } from "./open.ts";
import { isInside, machineConfigPath, POLICY_NAME, userPaths } from "./paths.ts";
import type { MachineSettings } from "./schemas.ts";
import { mergeSettings, type StationSettings } from "./settings.ts";

/** A path whose change may change what `inspectStation` finds, and what of it counts. */
interface InspectedSource {
  path: string;
  /** `link`: the name itself; `file`: where it leads; `mode`: only whose it is and who may write. */
  how: "file" | "link" | "mode";
}

export interface Inspection {
  root: string;
  state_dir: string;
  machine_path: string;
  /** Everything that is wrong with the configuration; null where nothing is. */
  fault: string | null;
  /** Why it is not trusted; null where it is. */
  trust_reason: string | null;
  settings: StationSettings;
  machine: MachineSettings;
  sources: InspectedSource[];
}

/** The directories whose modes decide whether `path` is believed; see `chainFault`. */
function chain(path: string, home: string | undefined): string[] {
  const inHome = home !== undefined && isInside(home, path);
  const folders: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    folders.push(at);
    if (!inHome || at === home || dirname(at) === at) return folders;
  }
}

function sourcesOf(root: string, machine_path: string, home: string): InspectedSource[] {
  const real_home = realpathIfThere(home);
  const real_machine = realpathIfThere(machine_path);
  const folders = [root, ...chain(root, real_home)];
  if (real_machine !== undefined) folders.push(...chain(real_machine, real_home));
  return [
    { path: join(root, POLICY_NAME), how: "link" },
    { path: machine_path, how: "link" },
    ...(real_machine === undefined ? [] : [{ path: real_machine, how: "file" } as const]),
    ...[...new Set(folders)].map((path) => ({ path, how: "mode" }) as const),
    // They say whether a group is a user's own.
    { path: "/etc/passwd", how: "file" },
    { path: "/etc/group", how: "file" },
  ];
}

/** The known trouble that `check` meets, in words; null where there is none. */
function troubleOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return errorMessage(error);
  }
}

/**
 * What a station says, for those who must answer whatever is wrong with it: faults are told, not
 * thrown, and the values are the defaults then. Makes nothing and starts no program. Throws (78) only
 * where there is no station.
 */
export function inspectStation(options: FindOptions): Inspection {
  const { env } = options;
  const root = stationRoot(options);
  const machine_path = machineConfigPath(env);
  const { machine, policy } = loadFiles(root, env);
  const faults = [...machine.faults, ...policy.faults].map(faultText);
  const nested = troubleOf(() => refuseNested(root, env, machine_path));
  if (nested !== null) faults.push(nested);
  return {
    root,
    state_dir: stationDirs(root, env, machine.value).state_dir,
    machine_path,
    fault: faults.length === 0 ? null : faults.join("; "),
    trust_reason: faults.length === 0 ? distrust(root, env, machine) : null,
    settings: mergeSettings(policy.value, machine.value),
    machine: machine.value,
    sources: sourcesOf(root, machine_path, userPaths(env).home),
  };
}
