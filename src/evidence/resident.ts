/** The part of this room that the waiting daemon lives with: it loads nothing but the file system. */
export { openRequests, requestAskedMs } from "./requests.ts";
export { outboxNames } from "./outbox-state.ts";
