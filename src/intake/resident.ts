/** The part of this room that loads no schema library: what the daemon lives with for weeks. */
export { Inbox, type PassReport } from "./inbox.ts";
export type { Parser } from "./parser.ts";
export type { IntakeWorld } from "./ports.ts";
export { submitFile } from "./submit.ts";
export { stationTrust } from "./trust.ts";
export { watchInbox } from "./watcher.ts";
