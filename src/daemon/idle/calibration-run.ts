import { waitAtMost, type Clock } from "../../core/clock.ts";
import { EXIT } from "../../core/errors.ts";
import type { TreeExit, TreeMark } from "../../core/process.ts";
import type { IdleRequest } from "./decide.ts";
import type { End } from "./history.ts";
import type { ChildEnd, ChildProgress } from "./protocol.ts";

/** A calibration in a process of its own. */
export interface CalibrationChild {
  /** Lets the step under way end, and begins no other. */
  giveWay(): void;
  /** Ends all its processes now. */
  end(): Promise<void>;
  /** Never rejects. */
  ended: Promise<ChildOutcome>;
}

export interface ChildOutcome {
  /** Its last word; null where it ended without one. */
  said: ChildEnd | null;
  exit: TreeExit;
  /** The end of what it wrote to standard error. */
  stderr: string;
}

export interface ChildHooks {
  /** Before it gets its first instruction, and once it is there. */
  onTree: (mark: TreeMark) => void;
  onProgress: (progress: ChildProgress) => void;
  onNote: (text: string) => void;
}

export type StartChild = (request: IdleRequest, hooks: ChildHooks) => CalibrationChild;

/** How often it is looked whether a calibration has hung itself up. */
const LOOK_MS = 60_000;
/** A step may be long; one that is asked to give way and takes longer than this is ended. */
const GIVE_WAY_LIMIT_MS = 30 * 60_000;
/** The longest step, with the longest answers, is far shorter. */
const SILENCE_LIMIT_MS = 6 * 3_600_000;

/** What became of it: how it ended, and what a person may want to know of it. */
export interface RunEnd {
  how: End;
  said: ChildEnd | null;
}

const CANNOT: ReadonlySet<number> = new Set([
  EXIT.refused,
  EXIT.usage,
  EXIT.bad_input,
  EXIT.bad_config,
]);

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

function exitWords({ exit_code, signal, spawn_error }: TreeExit): string {
  return spawn_error ?? (signal === null ? `exit ${exit_code ?? "unknown"}` : `signal ${signal}`);
}

interface Around {
  /** Why we ended it ourselves; null where we did not. */
  cut: { why: string; fault: boolean } | null;
  /** It was asked to give way. */
  asked: boolean;
  configuration: string;
}

/** Sorts how a calibration ended. */
export function sortEnd(
  { said, exit, stderr }: ChildOutcome,
  { cut, asked, configuration }: Around,
): End {
  const trouble = (kind: "not_now" | "failed" | "cannot" | "budget", code: string, why: string) =>
    ({ kind, code, why, configuration }) as const;
  switch (said?.event) {
    case "measured":
      return { kind: "measured" };
    case "gave_way":
      if (asked || cut !== null) return { kind: "quiet" };
      return trouble("not_now", "interrupted", "it was interrupted by somebody else");
    case "not_requested":
      return { kind: "quiet" };
    case "time_over":
      return trouble("budget", "budget", "calibration.budget_minutes are used up for this day");
    case "came_to_nothing":
      return trouble("failed", "nothing", said.why);
    case "refused": {
      const { exit_code, code, why } = said;
      if (exit_code === EXIT.busy) return trouble("not_now", code, why);
      return trouble(CANNOT.has(exit_code) ? "cannot" : "failed", code, why);
    }
    case undefined:
      break;
  }
  if (cut !== null) return cut.fault ? trouble("failed", "cut", cut.why) : { kind: "quiet" };
  const last = lastLine(stderr);
  const words = last === "" ? "" : `: ${last}`;
  return trouble("failed", "crashed", `its process ended with ${exitWords(exit)}${words}`);
}

/** Watches one calibration from its start to its end. */
export class CalibrationRun {
  readonly #clock: Clock;
  readonly #hard: AbortSignal;
  #child: CalibrationChild | null = null;
  #asked_ms: number | null = null;
  #heard_ms = 0;

  constructor(clock: Clock, hard: AbortSignal) {
    this.#clock = clock;
    this.#hard = hard;
  }

  get gives_way(): boolean {
    return this.#asked_ms !== null;
  }

  giveWay(): void {
    if (this.#asked_ms !== null) return;
    this.#asked_ms = this.#clock.monotonic_ms();
    this.#child?.giveWay();
  }

  /** Why it must be ended; null where it may go on. */
  #fault(): string | null {
    const now_ms = this.#clock.monotonic_ms();
    if (this.#asked_ms !== null && now_ms - this.#asked_ms > GIVE_WAY_LIMIT_MS) {
      return `it was asked to give way, and its step took over ${GIVE_WAY_LIMIT_MS / 60_000} min`;
    }
    if (now_ms - this.#heard_ms <= SILENCE_LIMIT_MS) return null;
    return `nothing was heard of it for ${SILENCE_LIMIT_MS / 3_600_000} h`;
  }

  async run(
    start: StartChild,
    request: IdleRequest,
    hooks: ChildHooks,
    configuration: string,
  ): Promise<RunEnd> {
    const heard = (): void => void (this.#heard_ms = this.#clock.monotonic_ms());
    heard();
    const child = start(request, {
      ...hooks,
      onProgress: (progress) => {
        heard();
        hooks.onProgress(progress);
      },
    });
    this.#child = child;
    if (this.gives_way) child.giveWay();
    let cut: Around["cut"] = null;
    const stop = (): void => {
      cut ??= { why: "the daemon was stopped", fault: false };
      void child.end();
    };
    if (this.#hard.aborted) stop();
    this.#hard.addEventListener("abort", stop, { once: true });
    for (;;) {
      const outcome = await waitAtMost(child.ended, LOOK_MS, this.#clock);
      if (outcome !== "late") {
        this.#hard.removeEventListener("abort", stop);
        const asked = this.gives_way;
        return { how: sortEnd(outcome, { cut, asked, configuration }), said: outcome.said };
      }
      const why = this.#fault();
      if (why === null || cut !== null) continue;
      cut = { why, fault: true };
      await child.end();
    }
  }
}
