import type { Clock } from "../core/clock.ts";
import type { QueueContext } from "../queue/index.ts";
import type { Env, Station } from "../station/index.ts";
import { realLoaders, realRooms, type Loaders, type Rooms } from "../steps/index.ts";
import { openBase, type Base } from "./base.ts";

/** A station with everything that the daemon's work and its commands need of it. */
export interface Setting extends Base {
  rooms: Rooms;
  loaders: Loaders;
  context: Omit<QueueContext, "look">;
}

export function openSetting(station: Station, clock: Clock, env: Env): Setting {
  const { settings } = station;
  return {
    ...openBase(station, clock, env),
    rooms: realRooms({ station, clock, env }),
    // What was taken up is not asked again whether its model is the same.
    loaders: realLoaders(station, { strict_cache: false }),
    context: {
      policy_defaults: settings.defaults,
      limits: settings.limits,
      runner_names: settings.runner_names,
      allowed_reset_commands: settings.allowed_reset_commands,
    },
  };
}
