/**
 * The part of this room that loads no schema library, for commands that are asked many times a
 * minute.
 */
export {
  dueAtMs,
  isClaimable,
  isEnded,
  JOB_STATES,
  transition,
  type Job,
  type JobEvent,
  type JobState,
  type Refusal,
} from "./job.ts";
export { rankOf } from "./rank.ts";
