export { detailOf, type SubmissionDetail } from "./detail.ts";
export { Inbox, type InboxOptions, type PassReport } from "./inbox.ts";
export { runParseMain, type ParseMainOptions } from "./parse-main.ts";
export type { ParseRequest, SubmissionPlan } from "./parse-protocol.ts";
export { createParser, type Parser, type ParserOptions } from "./parser.ts";
export { finishSubmission, rejectFile, type Placed } from "./placing.ts";
export type { IntakePaths, IntakeStore, IntakeWorld, StoredSubmission, Trust } from "./ports.ts";
export { finishEnded, recoverIntake, type RecoveryReport } from "./recover.ts";
export { refusal, type Refusal } from "./refusal.ts";
export {
  NO_SCAN_YET,
  scanInbox,
  type RipeFile,
  type ScanOptions,
  type ScanReport,
} from "./scan.ts";
export { submitFile, type SubmitOptions } from "./submit.ts";
export { takeUpFile, type TakeUpOutcome } from "./take-up.ts";
export { stationTrust } from "./trust.ts";
export { watchInbox, type InboxWatcher, type WatchOptions } from "./watcher.ts";
