/**
 * The part of this room that loads no schema library, for commands that are asked many times a
 * minute.
 */
export {
  dueAtMs,
  fenceFault,
  isClaimable,
  isEnded,
  isRunning,
  isWaiting,
  JOB_STATES,
  transition,
  type Job,
  type JobEvent,
  type JobFailure,
  type JobState,
  type Refusal,
} from "./job.ts";
export { AGEING_S_PER_POINT, rankOf } from "./rank.ts";
export { MAX_TIMEOUTS } from "./retry.ts";
