/** The part of this room that loads no schema library: `status` is asked many times a minute. */
export { readStatus, type StationStatus } from "./status.ts";
export { statusText } from "./status-text.ts";
