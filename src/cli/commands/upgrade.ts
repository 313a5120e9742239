import { EXIT } from "../../core/errors.ts";
import { serviceHost, upgradeService, wantedOf } from "../../daemon/index.ts";
import type { CommandAction } from "../context.ts";
import { sayProblems, serviceLine, watcherOf, type WhichOptions } from "../service-view.ts";

export const run: CommandAction<WhichOptions & { dryRun?: boolean }> = async (options, context) => {
  const { terminal, env, clock } = context;
  const outcome = await upgradeService(serviceHost(env, { clock }), {
    wanted: wantedOf(options),
    watcher: watcherOf(terminal, options),
  });
  if (options.json === true) {
    terminal.json(outcome);
    return EXIT.done;
  }
  const { from, to, changed, checked, dry_run, service } = outcome;
  if (!changed) terminal.out(`${to} is installed already`);
  else if (dry_run) terminal.err("nothing was changed (--dry-run)");
  else {
    const seen = checked ? "the new daemon is at work" : "the service was not running";
    terminal.out(`upgraded from ${from} to ${to}; ${seen}`);
  }
  if (service !== null) {
    sayProblems(terminal, service.problems);
    terminal.out(serviceLine(service));
  }
  return EXIT.done;
};
