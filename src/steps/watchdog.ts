import type { Clock } from "../core/clock.ts";
import type { ProcessTree, TreeExit } from "../core/process.ts";

/** Seconds between SIGTERM and SIGKILL. */
const GRACE_S = 10;
const LOOK_INTERVAL_MS = 1000;
/**
 * A look that comes so much too late, or a wall clock that ran so much ahead of the monotonic one,
 * means that the machine slept or we did. A busy machine delays a timer by less.
 */
const GAP_MS = 15_000;

export interface WatchOptions {
  tree: Pick<ProcessTree, "pid" | "exited" | "members" | "end">;
  /** Seconds of running time. */
  hard_limit_s: number;
  /** Seconds without growth; null where silence is no sign (a load says nothing). */
  silence_limit_s: number | null;
  /** A number that changes when the step shows life, such as the size of its event file. */
  life: () => number;
  clock: Clock;
  /** Ends the step: orderly at the first abort. */
  signal?: AbortSignal;
  /** Called at each look. */
  onLook?: () => void;
}

export interface WatchResult {
  end: "exited" | "timeout" | "stalled" | "interrupted";
  exit: TreeExit | null;
  /** Processes that outlived SIGKILL (waiting for a broken disk, for example). */
  survivors: number[];
  /** Without the time that the machine slept. */
  running_s: number;
  /** Gaps in which the machine slept or this process was stopped. */
  gaps: number;
}

/** Counts running time and silence from looks, and leaves out the time that nobody ran. */
class LifeCounter {
  readonly #clock: Clock;
  #monotonic_ms: number;
  #wall_ms: number;
  #life: number;
  running_ms = 0;
  silent_ms = 0;
  gaps = 0;

  constructor(clock: Clock, life: number) {
    this.#clock = clock;
    this.#monotonic_ms = clock.monotonic_ms();
    this.#wall_ms = clock.now_ms();
    this.#life = life;
  }

  look(life: number): void {
    const monotonic_ms = this.#clock.monotonic_ms();
    const wall_ms = this.#clock.now_ms();
    const passed_ms = monotonic_ms - this.#monotonic_ms;
    // Some systems stop the monotonic clock while they sleep, others let it run: both are met.
    const slept =
      passed_ms > LOOK_INTERVAL_MS + GAP_MS || wall_ms - this.#wall_ms - passed_ms > GAP_MS;
    this.#monotonic_ms = monotonic_ms;
    this.#wall_ms = wall_ms;
    if (slept) {
      this.gaps += 1;
      this.running_ms += Math.min(passed_ms, LOOK_INTERVAL_MS);
    } else {
      this.running_ms += passed_ms;
    }
    if (slept || life !== this.#life) this.silent_ms = 0;
    else this.silent_ms += passed_ms;
    this.#life = life;
  }
}

/**
 * Watches one step until it has ended, whole tree included. A step that runs too long, or shows no
 * life too long, gets SIGTERM, then after ten seconds SIGKILL; who lives on even then is reported.
 * Whatever the step leaves behind when it ends by itself is ended as well.
 */
export async function watch(options: WatchOptions): Promise<WatchResult> {
  const { tree, clock } = options;
  const counter = new LifeCounter(clock, options.life());
  const ended = new AbortController();
  let exit: TreeExit | null = null;
  const waiting = tree.exited.then((result) => {
    exit = result;
    ended.abort();
    return result;
  });
  // One sleep listens to both: the step's end and the user's stop.
  const wake =
    options.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, options.signal]);
  let end: WatchResult["end"] = "exited";
  while (!ended.signal.aborted) {
    if (options.signal?.aborted === true) end = "interrupted";
    else if (counter.running_ms >= options.hard_limit_s * 1000) end = "timeout";
    else if (
      options.silence_limit_s !== null &&
      counter.silent_ms >= options.silence_limit_s * 1000
    ) {
      end = "stalled";
    }
    if (end !== "exited") break;
    await clock.sleep(LOOK_INTERVAL_MS, wake);
    counter.look(options.life());
    options.onLook?.();
  }
  const survivors = end === "exited" ? await endRest(tree) : await tree.end(GRACE_S);
  // A process in the D state never reports its end; the night goes on without it.
  if (survivors.length === 0) exit = await waiting;
  return {
    end,
    exit,
    survivors,
    running_s: counter.running_ms / 1000,
    gaps: counter.gaps,
  };
}

async function endRest(tree: WatchOptions["tree"]): Promise<number[]> {
  return tree.members().length === 0 ? [] : tree.end(GRACE_S);
}
