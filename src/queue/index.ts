export { decodeQueueFile, MAX_QUEUE_FILE_BYTES } from "./decode.ts";
export { queueFileSchema } from "./entry-schema.ts";
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
} from "./job.ts";
export { byPriority, dependencyState } from "./order.ts";
export {
  parseQueueFile,
  type FileKind,
  type FileLook,
  type LookedModel,
  type QueueContext,
  type QueueEntry,
  type QueueFile,
} from "./queue-file.ts";
export { rankOf } from "./rank.ts";
export { retryDelayMs, type FailureKind } from "./retry.ts";
export { headline, summaryMarkdown } from "./summary-markdown.ts";
export {
  countEntries,
  hasEnded,
  stepsFileSchema,
  summarySchema,
  type Attempt,
  type EntryResult,
  type EntrySummary,
  type ResetRecord,
  type SettleRecord,
  type StepRecord,
  type StepsFile,
  type StepStatus,
  type Summary,
} from "./summary.ts";
