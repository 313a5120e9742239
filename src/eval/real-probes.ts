import type { Clock } from "../core/clock.ts";
import type { UlidSource } from "../core/ids.ts";
import { readHostIdentity, readPower, startSampler } from "../probes/index.ts";
import type { EvalProbes } from "./eval-probes.ts";

/** The probes of this machine. */
export function realProbes(clock: Clock, new_id: UlidSource): EvalProbes {
  return {
    startSampler: (options) => startSampler({ ...options, clock, new_id }),
    readPower,
    readHost: readHostIdentity,
  };
}
