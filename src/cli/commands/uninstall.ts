import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import { planUninstall, serviceHost, uninstallService, wantedOf } from "../../daemon/index.ts";
import { loadMachineSettings, stationDirs, userPaths } from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { watcherOf, type WhichOptions } from "../service-view.ts";

interface UninstallCommandOptions extends WhichOptions {
  station?: string;
  purge?: boolean;
  runs?: boolean;
  yes?: boolean;
  dryRun?: boolean;
}

/** The state of the station that is named; it may be gone itself. */
function stateOf(dir: string, { env, cwd }: CommandContext) {
  const path = resolve(cwd, dir);
  const root = existsSync(path) ? realpathSync(path) : path;
  const machine = loadMachineSettings(env);
  return { root, ...stationDirs(root, env, machine) };
}

async function confirmed({ terminal, signal }: CommandContext): Promise<boolean> {
  if (!terminal.interactive || !process.stdin.isTTY) return false;
  terminal.err('Type "yes" to remove all of it:');
  const lines = createInterface({ input: process.stdin });
  try {
    return (await lines.question("", { signal })).trim() === "yes";
  } catch {
    return false; // Ctrl-C
  } finally {
    lines.close();
  }
}

export const run: CommandAction<UninstallCommandOptions> = async (options, context) => {
  const { terminal, env, clock } = context;
  const watcher = watcherOf(terminal, options);
  const purge = options.purge === true;
  const { station } = options;
  if (station !== undefined && !purge) {
    throw usageError(
      "--station says whose state --purge takes",
      "Add --purge, or leave --station out: one service is installed at most.",
    );
  }
  const state = station === undefined ? undefined : stateOf(station, context);
  const plan = planUninstall(serviceHost(env, { clock }), {
    wanted: wantedOf(options),
    purge,
    runs: options.runs === true,
    state,
    watcher,
  });
  if (plan.purged.length > 0 && !watcher.dry_run && options.yes !== true) {
    terminal.err("This goes for good:");
    for (const path of plan.purged) terminal.err(`  ${path}`);
    if (!(await confirmed(context))) {
      throw new TouchstonedError({
        code: "not_confirmed",
        exitCode: EXIT.refused,
        message: "nothing was removed: it was not confirmed",
        hint: "With --yes it does not ask.",
      });
    }
  }
  const outcome = await uninstallService(plan, watcher);
  if (options.json === true) {
    terminal.json(outcome);
    return EXIT.done;
  }
  if (plan.manager === null) {
    terminal.out("nothing is installed");
    const left = userPaths(env).state_dir;
    if (state !== undefined && plan.purged.length > 0 && !watcher.dry_run) {
      terminal.out(`purged: the state of ${state.root} is gone`);
    } else if (state !== undefined && plan.purged.length === 0) {
      terminal.err(`there is no state of ${state.root} (${state.state_dir})`);
    } else if (state === undefined && purge && existsSync(left)) {
      terminal.err(
        `Whose state is meant is not known any more; ${left} was left as it is. ` +
          "For a station's: touchstoned uninstall --purge --station DIR",
      );
    }
  } else if (watcher.dry_run) terminal.err("nothing was changed (--dry-run)");
  else terminal.out(`uninstalled: the service of ${plan.station ?? "an unknown station"} is gone`);
  if (plan.stays.length > 0) terminal.out("what stays:");
  for (const { path, what } of plan.stays) terminal.out(`  ${path}  (${what})`);
  return EXIT.done;
};
