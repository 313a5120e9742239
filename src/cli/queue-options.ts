import { configError, usageError } from "../core/errors.ts";
import { shellWord } from "../core/shell-word.ts";
import { openStation, requireRuns, type Station } from "../station/index.ts";
import { realLoaders, realRooms } from "../steps/index.ts";
import type { CommandContext } from "./context.ts";
import { secondsOption } from "./seconds.ts";

export interface QueueOptions {
  lockWait?: string;
  runner?: string;
  strictCache?: boolean;
  station?: string;
  json?: boolean;
}

/** What `queue run` and `queue check` share: the station, its world, and what files may choose. */
export async function queueSetting(options: QueueOptions, context: CommandContext) {
  const { clock, env, cwd, signal, terminal } = context;
  const lock_wait_s = secondsOption("--lock-wait", options.lockWait, "3600") ?? 0;
  const station: Station = await openStation({ explicit: options.station, env, cwd });
  requireRuns(station);
  const { settings, machine, runs_dir } = station;
  const names = machine.runners.map((runner) => runner.name);
  if (options.runner !== undefined && !names.includes(options.runner)) {
    const known = names.join(", ") || "none";
    throw usageError(
      `--runner: no runner "${options.runner}" in machine.yaml`,
      `Declared: ${known}`,
    );
  }
  if (!station.trusted) {
    // A repository that was pulled must not choose what this machine does all night.
    throw configError(
      `${station.root}: this station is not trusted: ${station.trust_reason ?? ""}`,
      `If it is yours: touchstoned init ${shellWord(station.root)}`,
      "station_untrusted",
    );
  }
  return {
    lock_wait_s,
    station_root: station.root,
    runs_dir,
    context: {
      policy_defaults: settings.defaults,
      limits: settings.limits,
      runner_names: settings.runner_names,
      runner_override: options.runner ?? null,
      allowed_reset_commands: settings.allowed_reset_commands,
    },
    rooms: realRooms({ station, clock, env, onWait: (text) => terminal.err(text) }),
    loaders: realLoaders(station, { strict_cache: options.strictCache === true }),
    signal,
    keep_awake: settings.power.keep_awake,
  };
}
