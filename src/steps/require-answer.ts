import type { Clock } from "../core/clock.ts";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import type { ReadyRunner } from "./runner-pool.ts";

/** A server that is being restarted comes back within this; a dead one must not cost an hour. */
const ANSWER_LIMIT_S = 30;

/**
 * Waits a little for a runner to answer. Throws `endpoint_dead` (exit 69) where it does not: the
 * load would wait for it as long as for the slowest model.
 */
export async function requireAnswer(
  ready: ReadyRunner,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const deadline_ms = clock.monotonic_ms() + ANSWER_LIMIT_S * 1000;
  for (;;) {
    const status = await ready.runner.status();
    if (status.reachable || status.loading || signal.aborted) return;
    if (clock.monotonic_ms() >= deadline_ms) {
      const { name, url } = ready.attached;
      throw new TouchstonedError({
        code: "endpoint_dead",
        exitCode: EXIT.unavailable,
        message: `endpoint dead: the runner "${name}" (${url}) does not answer: ${status.reason ?? "no reason"}`,
        hint: "Start it, or correct its url in machine.yaml.",
      });
    }
    await clock.sleep(1000, signal);
  }
}
