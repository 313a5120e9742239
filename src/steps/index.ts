export { checkQueue, type CheckOptions, type CheckReport, type CheckRow } from "./check.ts";
export { forecast, type Forecast, type StepProgress } from "./event-tail.ts";
export { claimDirectory, realLoaders, realRooms, type RealRoomsOptions } from "./real-rooms.ts";
export type { Loaders, Rooms } from "./rooms.ts";
export type { Emit, RunEvent } from "./run-events.ts";
export { runStepMain, type StepMainOptions } from "./step-main.ts";
export { runSubmission, type SubmissionOptions, type SubmissionOutcome } from "./submission.ts";
export { planSubmission, type SubmissionPlan } from "./submission-dir.ts";
export { takeUp } from "./take-up.ts";
