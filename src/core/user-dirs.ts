import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Where this program keeps what belongs to a user and to no station: `$XDG_STATE_HOME/touchstoned`
 * [~/.local/state], on macOS `~/Library/Application Support/touchstoned`. As the XDG specification
 * asks, a relative value counts as not set.
 */
export function userStateDir(env: Env, platform: NodeJS.Platform = process.platform): string {
  const home = env["HOME"] === undefined || env["HOME"] === "" ? homedir() : env["HOME"];
  if (platform === "darwin") return join(home, "Library", "Application Support", "touchstoned");
  const chosen = env["XDG_STATE_HOME"];
  const base = chosen !== undefined && isAbsolute(chosen) ? chosen : join(home, ".local", "state");
  return join(base, "touchstoned");
}
