export { checkQueue } from "./check.ts";
export { forecast, type StepProgress } from "./event-tail.ts";
export { claimDirectory, realLoaders, realRooms } from "./real-rooms.ts";
export type { RunEvent } from "./run-events.ts";
export { runStepMain } from "./step-main.ts";
export { runSubmission } from "./submission.ts";
export { planSubmission } from "./submission-dir.ts";
export { takeUp } from "./take-up.ts";
