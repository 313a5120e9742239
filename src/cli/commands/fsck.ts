import { EXIT } from "../../core/errors.ts";
import { checkStation, type StationCheck } from "../../daemon/index.ts";
import { resolveLockPath } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import { withStore, type StationOptions } from "../queue-store.ts";

/** `sound` is said only where there is nothing at all to say. */
function verdict({ violations, notes }: StationCheck): string {
  if (violations.length > 0) return `${violations.length} violations`;
  const removed = notes.filter(({ rule }) => rule === "run_removed").length;
  const others = notes.length - removed;
  const parts = removed === 0 ? [] : [`runs removed: ${removed}`];
  if (others > 0) parts.push(`ended runs that the store does not know: ${others}`);
  return parts.length === 0 ? "sound" : `no promise is broken (${parts.join(", ")})`;
}

export const run: CommandAction<StationOptions> = async (options, context) =>
  withStore(options, context, async (store, { station, rooms, env }) => {
    const { terminal } = context;
    const { root, runs_dir, runs_fault, state_dir, machine } = station;
    const lock_path = resolveLockPath(env, machine).path;
    const place = { root, runs_dir, runs_fault, state_dir, lock_path };
    const check = await checkStation({ store, rooms, ...place });
    const { violations, notes, jobs, submissions } = check;
    if (options.json === true) terminal.json(check);
    else {
      for (const { rule, subject, message } of [...violations, ...notes]) {
        terminal.out(`${rule}: ${subject === null ? "" : `${subject} `}${message}`);
      }
      terminal.out(`${verdict(check)}: ${submissions} submissions, ${jobs} jobs`);
    }
    return violations.length === 0 ? EXIT.done : EXIT.failed;
  });
