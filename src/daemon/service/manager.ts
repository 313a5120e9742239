import type { Clock } from "../../core/clock.ts";
import { readSnapshot } from "../snapshot.ts";
import { readRunning } from "../running-record.ts";
import { adoptTree } from "../../core/process.ts";
import { isAlive } from "../../core/process-table.ts";
import { stateFiles } from "../files.ts";
import type { ServiceRecord } from "./record.ts";
import type { Step } from "./steps.ts";

/** A service manager, as far as it has to do with our one service. Each throws what its tool says. */
export interface ServiceManager {
  /** Throws where it cannot be used on this machine, with what to do. */
  require(): Promise<void>;
  /**
   * What ends a daemon that this manager started for another station, whose lock would be in the way;
   * to be done before anything is written. Where absent, the manager knows its one service by name.
   */
  evict?(): Step[];
  /** What brings the definition into force after it was written; `changed`: it is another one. */
  activate(changed: () => boolean): Step[];
  /** What takes the service away: stopped, not started any more, its definition gone. */
  deactivate(): Step[];
  start(): Promise<void>;
  /** Lets the running step end, as long as the daemon gives it; `now`: it is ended. */
  stop(now: boolean): Promise<void>;
  /** A new daemon; a step that can be adopted goes on meanwhile. */
  restart(): Promise<void>;
}

const LOOK_MS = 200;
/** Seconds between SIGTERM and SIGKILL for a step that is ended with the service. */
const STEP_GRACE_S = 10;

/** Looks until `look` says true; false where it does not within `limit_ms`. */
export async function until(
  look: () => boolean | Promise<boolean>,
  limit_ms: number,
  clock: Clock,
  every_ms = LOOK_MS,
): Promise<boolean> {
  const deadline_ms = clock.monotonic_ms() + limit_ms;
  for (;;) {
    if (await look()) return true;
    if (clock.monotonic_ms() >= deadline_ms) return false;
    await clock.sleep(every_ms);
  }
}

/** How long a daemon may take to hear the first signal. Two that meet are one to the system. */
const HEARD_MS = 5000;

/** Whether the daemon says that it is stopping, or is gone. */
export async function untilStopping(record: ServiceRecord, clock: Clock): Promise<void> {
  const { snapshot } = stateFiles(record.state_dir);
  await until(
    () => {
      const said = readSnapshot(snapshot);
      return said === undefined || said.stop !== "none" || !isAlive(said.process);
    },
    HEARD_MS,
    clock,
  );
}

/** The step of this station's daemon that lives now, whether its daemon does or not. */
function livingStep(record: ServiceRecord) {
  const running = readRunning(stateFiles(record.state_dir).running);
  return running !== undefined && running.root !== null && isAlive(running.root)
    ? running
    : undefined;
}

/** Ends a step whose daemon has gone: with the service nobody will adopt it any more. */
export async function endStep(record: ServiceRecord, clock: Clock): Promise<void> {
  const running = livingStep(record);
  if (running === undefined) return;
  await adoptTree({ root: running.root, token: running.token }, clock).end(STEP_GRACE_S);
}

/**
 * Whether a step runs that the next daemon can adopt. One whose runner the daemon itself had started
 * dies with it: then an orderly end is better, which hands the job back.
 */
export function stepIsAdoptable(record: ServiceRecord): boolean {
  return livingStep(record)?.own_runner === false;
}

export function stepLives(record: ServiceRecord): boolean {
  return livingStep(record) !== undefined;
}
