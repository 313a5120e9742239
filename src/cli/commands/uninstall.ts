import { existsSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { EXIT, TouchstonedError } from "../../core/errors.ts";
import { planUninstall, serviceHost, uninstallService, wantedOf } from "../../daemon/index.ts";
import { userPaths } from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { watcherOf, type WhichOptions } from "../service-view.ts";

interface UninstallCommandOptions extends WhichOptions {
  purge?: boolean;
  runs?: boolean;
  yes?: boolean;
  dryRun?: boolean;
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
  const plan = planUninstall(serviceHost(env, { clock }), {
    wanted: wantedOf(options),
    purge,
    runs: options.runs === true,
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
        hint: "`touchstoned uninstall --purge --yes` does not ask.",
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
    if (purge && existsSync(left)) {
      terminal.err(
        `Whose state went with the service is not known any more; ${left} was left as it is`,
      );
    }
  } else if (watcher.dry_run) terminal.err("nothing was changed (--dry-run)");
  else terminal.out(`uninstalled: the service of ${plan.station ?? "an unknown station"} is gone`);
  if (plan.stays.length > 0) terminal.out("what stays:");
  for (const { path, what } of plan.stays) terminal.out(`  ${path}  (${what})`);
  return EXIT.done;
};
