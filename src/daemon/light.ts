import type { AllowedSnapshot } from "../evidence/fast.ts";
import type { RebuildOptions } from "./slots/rebuild.ts";

/** The part of this room that loads no schema library: `status` is asked many times a minute. */
export { readStatus, type StationStatus } from "./status.ts";
export { statusText } from "./status-text.ts";

/** The station of the installed service, for who asks outside of any; undefined where there is none. */
export async function serviceState(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ root: string; state_dir: string } | undefined> {
  const { installedState } = await import("./service/installed-state.ts");
  return installedState(env);
}

/** The slow part of `slots allowed`, loaded where it is needed. */
export async function rebuildSnapshot(options: RebuildOptions): Promise<AllowedSnapshot> {
  const { rebuildSnapshot: rebuild } = await import("./slots/rebuild.ts");
  return rebuild(options);
}
