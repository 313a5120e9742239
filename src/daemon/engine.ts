import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { selfCommand } from "../core/program.ts";
import { createParser, type Parser } from "../intake/index.ts";
import { keepAwake } from "../probes/index.ts";
import type { Job } from "../queue/index.ts";
import { claimDirectory, type Rooms, type RunEvent } from "../steps/index.ts";
import { runsFault, type Station } from "../station/index.ts";
import type { Store } from "../store/index.ts";
import type { Base } from "./base.ts";
import { JobRun, type JobPlaceFault } from "./job-run.ts";
import { openSetting } from "./setting.ts";
import { Summaries } from "./summaries.ts";

/**
 * What works in the daemon. It brings all the libraries with it, so it is loaded when there is work,
 * and the daemon starts anew without it when there has been none for a while.
 */
export interface Engine {
  rooms: Rooms;
  summaries: Summaries;
  parser: Parser;
  jobRun(job: Job): JobRun;
}

export interface EngineOptions {
  base: Base;
  store: Store;
  log: Log;
  /** Lets the running step end. */
  soft: AbortSignal;
  /** Ends the running step. */
  hard: AbortSignal;
  emit: (event: RunEvent) => void;
}

function parserOf({ station, clock }: Base): Parser {
  const [program, ...args] = selfCommand();
  return createParser({ command: [program, ...args, "_take-up"], station, clock });
}

function awake(station: Base["station"], clock: Clock) {
  return async (): Promise<{ release: () => Promise<void> }> =>
    station.settings.power.keep_awake === "while_running"
      ? keepAwake({ clock })
      : { release: async () => undefined };
}

/** Why a job cannot run although nothing is wrong with it. */
function directoryFault(station: Station, { bundle_dir }: Job): JobPlaceFault | null {
  const fault = runsFault(station);
  if (fault !== null) return { reason: fault, returns: true };
  const directory = dirname(bundle_dir);
  if (existsSync(directory)) return null;
  return { reason: `its run ${directory} is not there`, returns: false };
}

export function openEngine(options: EngineOptions): Engine {
  const { base, store, log, soft, hard, emit } = options;
  const { station, clock, env, files } = base;
  const { rooms } = openSetting(station, clock, env);
  const summaries = new Summaries({ store, rooms, log });
  const deps = {
    store,
    rooms,
    summaries,
    log,
    running_path: files.running,
    get min_free_disk_mb() {
      return station.settings.limits.min_free_disk_mb;
    },
    directoryFault: (job: Job) => directoryFault(station, job),
    soft,
    hard,
    claimDirectory: (directory: string) => claimDirectory(directory, clock, hard),
    keepAwake: awake(station, clock),
    emit: (_job: Job, event: RunEvent) => emit(event),
  };
  return { rooms, summaries, parser: parserOf(base), jobRun: (job) => new JobRun(deps, job) };
}
