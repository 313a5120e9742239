import { join } from "node:path";
import { TouchstonedError } from "../core/errors.ts";
import { faultOf, type ConfigFault } from "./config-file.ts";
import { requireInbox } from "./confine.ts";
import { refuseTrackedInbox } from "./git-guard.ts";
import { stationRoot, type FindOptions } from "./locate.ts";
import { distrust, loadFiles, refuseNested } from "./open.ts";
import { lockPlace } from "./lock-path.ts";
import { userPaths } from "./paths.ts";
import { resolveRunner } from "./runners.ts";
import { loadMachine } from "./settings.ts";

export interface ConfigReport {
  /** null where there is no station to check. */
  station: string | null;
  machine_config: string;
  /** Everything that is wrong; nothing may run while there is one. */
  faults: ConfigFault[];
  /** What keeps it from running unattended (not trusted), and what is missing. */
  warnings: string[];
}

/** Runs a check that throws and keeps what it threw as a fault of `file`. */
async function collect(
  faults: ConfigFault[],
  file: string,
  check: () => unknown,
): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    faults.push(faultOf(file, error));
    return false;
  }
}

/**
 * Looks at both configuration files and everything around them and collects all that is wrong. No
 * trouble is thrown but what was not foreseen. Nothing is started but git, to list what it tracks.
 */
export async function checkConfig(options: FindOptions): Promise<ConfigReport> {
  const { env } = options;
  const loaded = loadMachine(env);
  const faults: ConfigFault[] = [...loaded.faults];
  const warnings: string[] = [];
  const { home } = userPaths(env);
  if (loaded.parsed === null && loaded.faults.length === 0) {
    warnings.push(`there is no ${loaded.path}; \`touchstoned init\` makes one`);
  }
  for (const { name } of loaded.value.runners) {
    await collect(faults, loaded.path, () => resolveRunner(loaded.value, name, home));
  }
  await collect(faults, loaded.path, () => lockPlace(env, loaded.value));
  let root = "";
  const found = await collect(faults, options.cwd, () => (root = stationRoot(options)));
  if (found) {
    const { machine, policy } = loadFiles(root, env);
    faults.push(...policy.faults);
    await collect(faults, root, () => refuseNested(root, env, machine.path));
    await collect(faults, root, () => refuseTrackedInbox(root, env));
    await collect(faults, join(root, "inbox"), () => requireInbox(root));
    const reason = machine.faults.length === 0 ? distrust(root, env, machine) : null;
    if (reason !== null) warnings.push(`not trusted: ${reason}`);
  }
  return { station: found ? root : null, machine_config: loaded.path, faults, warnings };
}
