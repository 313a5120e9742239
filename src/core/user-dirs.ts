import { homedir } from "node:os";
import { join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Where this program keeps what belongs to a user and to no station: `$XDG_STATE_HOME/touchstoned`,
 * on macOS `~/Library/Application Support/touchstoned` (unless XDG_STATE_HOME asks for another).
 */
export function userStateDir(env: Env): string {
  const chosen = env["XDG_STATE_HOME"];
  if (chosen !== undefined && chosen.startsWith("/")) return join(chosen, "touchstoned");
  const home = env["HOME"] ?? homedir();
  return process.platform === "darwin"
    ? join(home, "Library", "Application Support", "touchstoned")
    : join(home, ".local", "state", "touchstoned");
}
