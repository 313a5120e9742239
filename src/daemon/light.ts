import type { AllowedSnapshot } from "../evidence/fast.ts";
import type { RebuildOptions } from "./slots/rebuild.ts";

/** The part of this room that loads no schema library: `status` is asked many times a minute. */
export { readStatus, type StationStatus } from "./status.ts";
export { statusText } from "./status-text.ts";

/** The slow part of `slots allowed`, loaded where it is needed. */
export async function rebuildSnapshot(options: RebuildOptions): Promise<AllowedSnapshot> {
  const { rebuildSnapshot: rebuild } = await import("./slots/rebuild.ts");
  return rebuild(options);
}
