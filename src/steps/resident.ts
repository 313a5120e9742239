/** The part of this room that loads no library: what the daemon says of a step's progress. */
export { forecast } from "./event-tail.ts";
export type { HeldLock } from "./rooms.ts";
export type { RunEvent } from "./run-events.ts";
export type { AdoptedStep } from "./run-step.ts";
