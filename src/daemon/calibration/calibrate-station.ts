import { configError } from "../../core/errors.ts";
import { shellWord } from "../../core/shell-word.ts";
import { requestKey } from "../../evidence/light.ts";
import {
  acquireModelLock,
  inheritedModelLock,
  resolveLockPath,
  type ModelLock,
} from "../../station/index.ts";
import { Calibration } from "./calibration.ts";
import { rememberingEnd } from "./last-attempt.ts";
import { planCalibration } from "./plan.ts";
import type { CalibrateOptions, CalibrationOutcome } from "./wish.ts";

async function takeLock(options: CalibrateOptions): Promise<ModelLock> {
  const { env, clock, signal, station, lock_wait_s, onEvent } = options;
  const inherited = inheritedModelLock(env);
  if (inherited !== undefined) return inherited;
  return acquireModelLock({
    path: resolveLockPath(env, station.machine).path,
    wait_s: lock_wait_s,
    holder: { purpose: "slots calibrate", run_id: null },
    clock,
    ...(signal === undefined ? {} : { signal }),
    onWait: ({ path, text }) =>
      onEvent({ kind: "note", text: `waiting for the model lock ${path}, ${text}` }),
  });
}

/**
 * Measures how many requests a runner of this machine can serve at once and writes the evidence. What
 * was measured is kept after each step, so that a calibration that is interrupted, killed or out of
 * time goes on when it is run again. Throws a refusal (exit 3) where it may not or cannot be measured
 * here, `lock_busy`, `not_alone` or `not_readable` (75) where it cannot now, and what the corpus, the
 * configuration and the evidence throw.
 */
export async function calibrateStation(options: CalibrateOptions): Promise<CalibrationOutcome> {
  const { station, wish } = options;
  if (!station.trusted) {
    throw configError(
      `nothing is measured for a station that is not trusted: ${station.trust_reason ?? ""}`,
      `\`touchstoned init ${shellWord(station.root)}\` trusts it, if you do.`,
      "not_trusted",
    );
  }
  const { local_models, defaults } = station.settings;
  const plan = planCalibration(station.machine, {
    runner: wish.runner ?? local_models.runner ?? defaults.runner,
    model: wish.model ?? local_models.model,
    context_per_slot: wish.context_per_slot,
  });
  const calibration = new Calibration(options, plan);
  if (wish.if_requested === true && !calibration.requested) {
    return calibration.outcome({ result: "not_requested", stop: "nobody asked for it" });
  }
  const lock = await takeLock(options);
  try {
    const key = requestKey(plan.settings.kind, plan.model);
    const where = { state_dir: station.state_dir, key, now_ms: () => options.clock.now_ms() };
    return await rememberingEnd(where, () => calibration.run());
  } finally {
    lock.release();
  }
}
