import type { LockKeeper } from "./lock-holder.ts";

/**
 * The part of this room that loads neither a schema library nor YAML, for commands that are asked
 * many times a minute.
 */
export { locateState } from "./locate.ts";
export { machineConfigPath } from "./paths.ts";

/** Who holds the lock at `path`, loaded where it is asked for. */
export async function keeperOf(path: string): Promise<LockKeeper | undefined> {
  const { lockKeeper } = await import("./lock-holder.ts");
  return lockKeeper(path);
}
