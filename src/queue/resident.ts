/** The part of this room that loads no schema library, for the store and the daemon. */
export { decodeQueueFile, MAX_QUEUE_FILE_BYTES } from "./decode.ts";
export {
  fenceFault,
  isEnded,
  type Job,
  type JobEvent,
  type JobFailure,
  type JobState,
  type Refusal,
} from "./job.ts";
export type { QueueEntry } from "./queue-file.ts";
export { AGEING_S_PER_POINT } from "./rank.ts";
export { MAX_TIMEOUTS } from "./retry.ts";
