/** The part of this room that loads no schema library: `status` is asked many times a minute. */
export { readStatus, type StationStatus } from "./status.ts";
export { statusText } from "./status-text.ts";

/** The slow part of `slots allowed`, loaded where it is needed. */
export const rebuildSnapshot: typeof import("./slots/rebuild.ts").rebuildSnapshot = async (
  options,
) => (await import("./slots/rebuild.ts")).rebuildSnapshot(options);
