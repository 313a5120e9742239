import type { Clock } from "../core/clock.ts";
import { judge } from "../verdict/index.ts";
import type { Bounds, CorpusSummary, Method, Sweep, Verdict } from "../verdict/index.ts";
import type { CalibrationDevice, Sampling, Segment } from "./device.ts";
import { dealSegments } from "./sweep-deck.ts";
import { usable } from "./sweep-block.ts";
import { forecast } from "./sweep-forecast.ts";
import { isMeasured, nextStep } from "./sweep-plan.ts";
import type { ExtraWish, Step, Wishes } from "./sweep-plan.ts";
import { progressOf } from "./sweep-progress.ts";
import type { SweepProgress } from "./sweep-progress.ts";
import { ServerGone, Session } from "./sweep-session.ts";
import { emptyState, sweepOf, usableState } from "./sweep-state.ts";
import type { SweepState } from "./sweep-state.ts";
import { Interrupted, perform } from "./sweep-steps.ts";

export interface SweepOptions {
  device: CalibrationDevice;
  segments: readonly Segment[];
  corpus: CorpusSummary;
  method: Method;
  bounds: Bounds;
  clock: Clock;
  /** Uniform in [0, 1): which arm comes first, what stands beside the counted turns, nonces. */
  random: () => number;
  /** Numbers of slots that are only loaded, at first; must have 1 [1, 2, 4, 8, ... up to max_slots]. */
  ladder_slots?: readonly number[];
  checkpoint: { load: () => SweepState | undefined; save: (state: SweepState) => void };
  onProgress?: (progress: SweepProgress) => void;
  /** Ends the step that is under way; what it had measured is dropped. */
  signal?: AbortSignal;
  /** Lets the step that is under way end, and begins no other. */
  give_way?: AbortSignal;
  /** Seconds for this call; what is not done then goes on from the checkpoint. */
  budget_s?: number;
  extras?: readonly ExtraWish[];
  /** Also report the number that is found with answers drawn as production draws them. */
  production_sampling?: Sampling;
  /** Steps older than this are measured again [30]. */
  max_age_days?: number;
}

/** What `stop` says where a sweep ended between two steps, to go on later. */
export const GAVE_WAY = "it gave way";
export const TIME_OVER = "the time allowed ran out";

interface End {
  complete: boolean;
  stop: string;
}

/** Whether the next step would go over the time allowed, judged by how long its like took. */
function overBudget(options: SweepOptions, begun_ms: number, longest_ms: number): boolean {
  if (options.budget_s === undefined) return false;
  const spent_ms = options.clock.monotonic_ms() - begun_ms;
  return spent_ms + longest_ms > options.budget_s * 1000;
}

const aborted = (signal: AbortSignal | undefined): boolean => signal?.aborted ?? false;

/** Why no further step begins; null where one may. */
function hindrance(options: SweepOptions, begun_ms: number, longest_ms: number): string | null {
  if (aborted(options.signal)) return "it was interrupted";
  if (aborted(options.give_way)) return GAVE_WAY;
  return overBudget(options, begun_ms, longest_ms) ? TIME_OVER : null;
}

async function drive(options: SweepOptions, state: SweepState, session: Session): Promise<End> {
  const { segments, clock, signal, checkpoint, onProgress } = options;
  const tools = {
    device: options.device,
    deck: dealSegments(segments, options.method.seed),
    clock,
    random: options.random,
    signal,
  };
  const begun_ms = clock.monotonic_ms();
  let longest_ms = 0;
  for (;;) {
    const wishes: Wishes = {
      bounds: options.bounds,
      corpus: options.corpus,
      available: usable(state, segments).length,
      ladder_slots: options.ladder_slots,
      extras: options.extras,
      production_sampling: options.production_sampling,
    };
    const step: Step = nextStep(state, wishes);
    onProgress?.(progressOf(state, step, forecast(state)));
    if (step.kind === "done") return { complete: step.complete, stop: step.stop };
    const stop = hindrance(options, begun_ms, longest_ms);
    if (stop !== null) return { complete: false, stop };
    const before_ms = clock.monotonic_ms();
    try {
      await perform({ state, session, tools }, step);
    } catch (error) {
      if (error instanceof Interrupted || aborted(signal)) {
        return { complete: false, stop: "it was interrupted" };
      }
      if (error instanceof ServerGone) {
        checkpoint.save(state);
        return { complete: false, stop: `the server in production is gone: ${error.message}` };
      }
      throw error;
    }
    if (isMeasured(step)) state.steps = (state.steps ?? 0) + 1;
    longest_ms = Math.max(longest_ms, clock.monotonic_ms() - before_ms);
    checkpoint.save(state);
  }
}

/**
 * Measures how many slots a device can serve, up to where the verdict is certain. The server of the
 * device is stopped at the end, whatever happens. Rejects only where the device itself does.
 */
export async function runSweep(
  options: SweepOptions,
): Promise<{ sweep: Sweep; verdict: Verdict; state: SweepState }> {
  const { corpus, method, clock, signal } = options;
  const state = usableState(options.checkpoint.load(), emptyState(method, corpus), {
    now_ms: clock.now_ms(),
    ...(options.max_age_days === undefined ? {} : { max_age_days: options.max_age_days }),
  });
  const session = new Session({
    device: options.device,
    deck: options.segments,
    clock,
    random: options.random,
    signal,
  });
  let end: End;
  try {
    end = await drive(options, state, session);
  } finally {
    await session.close();
  }
  const sweep = sweepOf(state, corpus, end);
  return { sweep, verdict: judge(sweep, options.bounds), state };
}
