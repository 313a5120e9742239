/** The part of this room that the waiting daemon lives with. */
export { readIdleness } from "./idleness.ts";
