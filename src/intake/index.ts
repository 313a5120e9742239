export { detailOf } from "./detail.ts";
export { Inbox, type PassReport } from "./inbox.ts";
export { runParseMain } from "./parse-main.ts";
export type { ParseRequest, SubmissionPlan } from "./parse-protocol.ts";
export { createParser, type Parser, type ParserOptions } from "./parser.ts";
export type { IntakeWorld } from "./ports.ts";
export { submitFile } from "./submit.ts";
export { stationTrust } from "./trust.ts";
export { watchInbox } from "./watcher.ts";
