import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { configError, EXIT, TouchstonedError } from "../core/errors.ts";
import { ulidSource, type UlidSource } from "../core/ids.ts";
import { shellWord } from "../core/shell-word.ts";
import {
  acquireModelLock,
  requireInbox,
  type Env,
  type ModelLock,
  type Station,
} from "../station/resident.ts";
import { stateFiles, type StateFiles } from "./files.ts";

/** A station as the daemon lives with it while nothing is to be done. */
export interface Base {
  station: Station;
  files: StateFiles;
  inbox: string;
  clock: Clock;
  env: Env;
  new_id: UlidSource;
}

/** What a child finds out for the daemon, which need not load what it takes. */
export interface OpenedStation {
  station: Station;
  /** Memory that a model can have here, MB; null where that is not known. */
  memory_mb: number | null;
}

export function openBase(station: Station, clock: Clock, env: Env): Base {
  return {
    station,
    files: stateFiles(station.state_dir),
    inbox: join(station.root, "inbox"),
    clock,
    env,
    new_id: ulidSource(clock),
  };
}

/** Throws a configuration error (78) where queue files of this station may not run unattended. */
export function requireTrust(station: Station): void {
  requireInbox(station.root);
  if (station.trusted) return;
  throw configError(
    `the daemon does not run in a station that is not trusted: ${station.trust_reason ?? ""}`,
    `\`touchstoned init ${shellWord(station.root)}\` trusts it, if you do.`,
    "not_trusted",
  );
}

/** Takes the station's daemon lock. Throws `daemon_busy` (75) that names who has it. */
export async function takeDaemonLock(
  base: Base,
  purpose: string,
  signal?: AbortSignal,
): Promise<ModelLock> {
  const { files, clock, station } = base;
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
