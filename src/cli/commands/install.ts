import { EXIT } from "../../core/errors.ts";
import { shellWord } from "../../core/shell-word.ts";
import { installService, serviceHost, wantedOf } from "../../daemon/index.ts";
import { findStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import { sayProblems, serviceLine, watcherOf, type WhichOptions } from "../service-view.ts";

interface InstallCommandOptions extends WhichOptions {
  station?: string;
  runAs?: string;
  dryRun?: boolean;
}

export const run: CommandAction<InstallCommandOptions> = async (options, context) => {
  const { terminal, env, cwd, clock } = context;
  const outcome = await installService(serviceHost(env, { clock }), {
    wanted: wantedOf(options),
    station: options.station,
    run_as: options.runAs,
    cwd,
    watcher: watcherOf(terminal, options),
  });
  const { service, notes, problems, dry_run, changed } = outcome;
  if (options.json === true) {
    terminal.json(outcome);
    return EXIT.done;
  }
  for (const note of notes) terminal.err(note);
  sayProblems(terminal, problems);
  if (dry_run) terminal.err("nothing was changed (--dry-run)");
  else if (service !== null) {
    terminal.out(`${changed ? "installed" : "nothing to do"}: ${serviceLine(service)}`);
    const { station } = service;
    const found = station === null || findStation({ env, cwd }) === station;
    const where = found ? "" : ` --station ${shellWord(station)}`;
    terminal.err(`Next: touchstoned status${where}; touchstoned logs -f`);
  }
  return EXIT.done;
};
