export { checkQueue } from "./check.ts";
export { runEntry } from "./entry.ts";
export type { EntryEnd, StartedStep } from "./entry-context.ts";
export { forecast, type StepProgress } from "./event-tail.ts";
export { claimDirectory, realLoaders, realRooms } from "./real-rooms.ts";
export type { HeldLock, Loaders, Rooms } from "./rooms.ts";
export type { RunEvent } from "./run-events.ts";
export type { AdoptedStep } from "./run-step.ts";
export { RunnerPool } from "./runner-pool.ts";
export { runStepMain } from "./step-main.ts";
export { runSubmission } from "./submission.ts";
export {
  openTaken,
  planSubmission,
  proveCopies,
  readRecord,
  reopenSubmission,
  type SubmissionDir,
  type SubmissionRecord,
} from "./submission-dir.ts";
export { newSummary, restoreSummary } from "./summary-make.ts";
export { SummaryStore } from "./summary-store.ts";
export { takeUp } from "./take-up.ts";
