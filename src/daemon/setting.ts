import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { configError, EXIT, TouchstonedError } from "../core/errors.ts";
import { realDisk } from "../core/disk.ts";
import { selfCommand } from "../core/program.ts";
import type { UlidSource } from "../core/ids.ts";
import { createParser, stationTrust, type IntakeWorld } from "../intake/index.ts";
import type { QueueContext } from "../queue/index.ts";
import { acquireModelLock, requireInbox, type ModelLock, type Station } from "../station/index.ts";
import { realLoaders, realRooms, type Loaders, type Rooms } from "../steps/index.ts";
import type { Store } from "../store/index.ts";
import { stateFiles, type StateFiles } from "./files.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A station with everything that the daemon and its commands need of it. */
export interface Setting {
  station: Station;
  files: StateFiles;
  inbox: string;
  clock: Clock;
  env: Env;
  rooms: Rooms;
  loaders: Loaders;
  new_id: UlidSource;
  context: Omit<QueueContext, "look">;
}

/** What queue files may choose among. */
export function choicesOf({ settings }: Pick<Station, "settings">): Setting["context"] {
  return {
    policy_defaults: settings.defaults,
    limits: settings.limits,
    runner_names: settings.runner_names,
    allowed_reset_commands: settings.allowed_reset_commands,
  };
}

export function openSetting(station: Station, clock: Clock, env: Env): Setting {
  const rooms = realRooms({ station, clock, env });
  return {
    station,
    files: stateFiles(station.state_dir),
    inbox: join(station.root, "inbox"),
    clock,
    env,
    rooms,
    // What was taken up is not asked again whether its model is the same.
    loaders: realLoaders(station, { strict_cache: false }),
    new_id: rooms.new_id,
    context: choicesOf(station),
  };
}

/** Throws a configuration error (78) where queue files of this station may not run unattended. */
export function requireTrust(station: Station): void {
  requireInbox(station.root);
  if (station.trusted) return;
  throw configError(
    `the daemon does not run in a station that is not trusted: ${station.trust_reason ?? ""}`,
    `\`touchstoned init ${station.root}\` trusts it, if you do.`,
    "not_trusted",
  );
}

/** Takes the station's daemon lock. Throws `daemon_busy` (75) that names who has it. */
export async function takeDaemonLock(
  setting: Setting,
  purpose: string,
  signal?: AbortSignal,
): Promise<ModelLock> {
  const { files, clock, station } = setting;
  try {
    return await acquireModelLock({
      path: files.lock,
      wait_s: 0,
      holder: { purpose, run_id: null },
      clock,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (!(error instanceof TouchstonedError) || error.code !== "lock_busy") throw error;
    const who = /held by (.*)$/.exec(error.message)?.[1] ?? "another process";
    throw new TouchstonedError({
      code: "daemon_busy",
      exitCode: EXIT.busy,
      message: `the queue of ${station.root} is in the hands of ${who}`,
      hint: "One daemon runs a station. `touchstoned status` says what it does.",
      cause: error,
    });
  }
}

/** `fault`: why nothing at all is taken up, or null. */
export function intakeWorld(
  setting: Setting,
  store: Store,
  fault: () => string | null,
): IntakeWorld {
  const { station, inbox, clock, env, new_id } = setting;
  const [program, ...args] = selfCommand();
  const trust = stationTrust(inbox, env);
  return {
    paths: { inbox, runs_dir: station.runs_dir, state_dir: station.state_dir },
    disk: realDisk,
    clock,
    new_id,
    store,
    trust: { ...trust, inbox: () => fault() ?? trust.inbox() },
    parser: createParser({ command: [program, ...args, "_take-up"], station, clock }),
  };
}
