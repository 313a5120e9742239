import type { RecordedReadings } from "../../src/calibrate/index.ts";
import type { Readings } from "../../src/verdict/index.ts";

/** What a machine at rest tells of itself: nothing that breaks a bound. */
export function quietMachine(over: Partial<RecordedReadings> = {}): RecordedReadings {
  return {
    samples: 20,
    host_used_peak_mb: 16_000,
    host_total_mb: 32_000,
    cgroup_used_peak_mb: null,
    cgroup_limit_mb: null,
    gpus: [],
    swap_out_mb_per_min: 0,
    pressure_stall_share: 0.01,
    pressure_level: null,
    throttled: false,
    unavailable: {},
    ...over,
  };
}

/** What a server tells that did nothing wrong. */
export const QUIET_SERVER = {
  alone: true,
  failed_turns: 0,
  cut_prompts: 0,
  context_shifts: 0,
  unfinished_turns: 0,
  evicted_turns: 0,
  model_reloads: 0,
} as const satisfies Partial<Readings>;

/** A period in which nothing went wrong. */
export function quietReadings(over: Partial<Readings> = {}): Readings {
  return { ...quietMachine(), ...QUIET_SERVER, ...over };
}
