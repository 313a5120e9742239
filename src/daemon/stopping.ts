import type { Clock } from "../core/clock.ts";
import type { Loop } from "./loop.ts";
import type { Report } from "./report.ts";

export interface StopperOptions {
  loop: Pick<Loop, "stop">;
  report: Pick<Report, "say">;
  clock: Clock;
  /** So long the running step has after the first stop; null: until it ends by itself. */
  stop_within_s: number | null;
  /** Lets the running step end. */
  soft: AbortController;
  /** Ends the running step. */
  hard: AbortController;
  /** Aborted when the daemon has ended. */
  over: AbortSignal;
}

/**
 * What each stop does: the first lets the running step end, the second ends it, and the job is handed
 * back. A service manager asks once and then kills; `stop_within_s` asks the second time before that.
 */
export function stopper(options: StopperOptions): () => void {
  const { loop, report, clock, stop_within_s, soft, hard, over } = options;
  const endStep = (): void => {
    if (hard.signal.aborted) return;
    hard.abort();
    report.say("ending the running step");
    loop.stop();
  };
  const afterGrace = async (grace_s: number): Promise<void> => {
    await clock.sleep(grace_s * 1000, AbortSignal.any([over, hard.signal]));
    if (!over.aborted) endStep();
  };
  return () => {
    if (soft.signal.aborted) return endStep();
    soft.abort();
    report.say("stopping");
    loop.stop();
    if (stop_within_s !== null) void afterGrace(stop_within_s);
  };
}
