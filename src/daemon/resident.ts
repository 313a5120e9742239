/** The part of this room that stays in memory; what works is loaded when there is work. */
export type { OpenedStation } from "./base.ts";
export { runDaemon } from "./daemon.ts";
export { takeServiceManager } from "./pulse.ts";
