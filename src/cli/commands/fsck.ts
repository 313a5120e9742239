import { EXIT } from "../../core/errors.ts";
import { checkStation } from "../../daemon/index.ts";
import { resolveLockPath } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import { withStore, type StationOptions } from "../queue-store.ts";

export const run: CommandAction<StationOptions> = async (options, context) =>
  withStore(options, context, async (store, { station, rooms, env }) => {
    const { terminal } = context;
    const { root, runs_dir, state_dir, machine } = station;
    const lock_path = resolveLockPath(env, machine).path;
    const check = await checkStation({ store, root, runs_dir, state_dir, lock_path, rooms });
    const { violations, jobs, submissions } = check;
    if (options.json === true) terminal.json(check);
    else {
      for (const { rule, subject, message } of violations) {
        terminal.out(`${rule}: ${subject === null ? "" : `${subject} `}${message}`);
      }
      const what = violations.length === 0 ? "sound" : `${violations.length} violations`;
      terminal.out(`${what}: ${submissions} submissions, ${jobs} jobs`);
    }
    return violations.length === 0 ? EXIT.done : EXIT.failed;
  });
