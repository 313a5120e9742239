export { setAside } from "./sqlite/set-aside.ts";
export { openStill, type StillStore } from "./sqlite/open-still.ts";
export { openSqliteStore, type OpenedStore, type SqliteOptions } from "./sqlite/open.ts";
export {
  OWNER_SILENCE_MS,
  QUEUE,
  type Able,
  type AcceptReport,
  type Blocked,
  type HoldOutcome,
  type JobFilter,
  type JobHistory,
  type JobOutcome,
  type NewJob,
  type NewSubmission,
  type Owner,
  type OwnerOutcome,
  type OwnerVerdict,
  type ReapReport,
  type RecordedStep,
  type RegisteredOwner,
  type Restored,
  type StepEntry,
  type Store,
  type Submission,
  type SubmissionFilter,
  type Violation,
} from "./store.ts";
