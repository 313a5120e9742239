import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { configError } from "./errors.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The user's home directory. Throws a configuration error where `HOME` is set to what is none: what is
 * written below it would land in whatever directory we are in.
 */
export function homeOf(env: Env): string {
  const home = env["HOME"] ?? homedir();
  if (isAbsolute(home)) return home;
  throw configError(`HOME: "${home}" is not an absolute path`, "Set it to your home directory.");
}

function xdgDir(env: Env, variable: string, ...fallback: string[]): string {
  const chosen = env[variable];
  return chosen !== undefined && isAbsolute(chosen) ? chosen : join(homeOf(env), ...fallback);
}

/**
 * Where this program keeps what belongs to a user and to no station: `$XDG_STATE_HOME/touchstoned`
 * [~/.local/state], on macOS `~/Library/Application Support/touchstoned`. As the XDG specification
 * asks, a relative value counts as not set.
 */
export function userStateDir(env: Env, platform: NodeJS.Platform = process.platform): string {
  if (platform === "darwin") {
    return join(homeOf(env), "Library", "Application Support", "touchstoned");
  }
  return join(xdgDir(env, "XDG_STATE_HOME", ".local", "state"), "touchstoned");
}

/** What may be thrown away at any time: `$XDG_CACHE_HOME/touchstoned` [~/.cache], `~/Library/Caches`. */
export function userCacheDir(env: Env, platform: NodeJS.Platform = process.platform): string {
  if (platform === "darwin") return join(homeOf(env), "Library", "Caches", "touchstoned");
  return join(xdgDir(env, "XDG_CACHE_HOME", ".cache"), "touchstoned");
}
