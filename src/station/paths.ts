import { isAbsolute, join, relative } from "node:path";
import { configError } from "../core/errors.ts";
import { homeOf } from "../core/user-dirs.ts";

/** The file that makes a directory a station. */
export const POLICY_NAME = "touchstoned.yaml";

export type Env = Readonly<Record<string, string | undefined>>;

/** The user's directories for this program. None of them need be there. */
export interface UserPaths {
  home: string;
  config_dir: string;
  state_dir: string;
  data_dir: string;
}

/** A variable that is there and not empty. */
export function variable(env: Env, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

/** Like `variable`; throws a configuration error where the value is no absolute path. */
export function pathVariable(env: Env, name: string): string | undefined {
  const value = variable(env, name);
  if (value === undefined || (isAbsolute(value) && !value.includes("\0"))) return value;
  throw configError(`${name}: "${value}" is not an absolute path`, `Write it from / on.`);
}

/**
 * Where a user's things are: the XDG base directories on Linux, Application Support on macOS. As
 * the XDG specification asks, a relative value counts as not set.
 */
export function userPaths(env: Env, platform: NodeJS.Platform = process.platform): UserPaths {
  const home = homeOf(env);
  if (platform === "darwin") {
    const support = join(home, "Library", "Application Support", "touchstoned");
    return { home, config_dir: support, state_dir: support, data_dir: support };
  }
  const base = (name: string, otherwise: string): string => {
    const value = variable(env, name);
    return join(
      value !== undefined && isAbsolute(value) ? value : join(home, otherwise),
      "touchstoned",
    );
  };
  return {
    home,
    config_dir: base("XDG_CONFIG_HOME", ".config"),
    state_dir: base("XDG_STATE_HOME", ".local/state"),
    data_dir: base("XDG_DATA_HOME", ".local/share"),
  };
}

/** The station that is used where none is named and none is around: `DATA_DIR/station`. */
export function userStation(env: Env): string {
  return join(userPaths(env).data_dir, "station");
}

export const MACHINE_CONFIG_VARIABLE = "TOUCHSTONED_MACHINE_CONFIG";

/** Path of machine.yaml, whether it is there or not. */
export function machineConfigPath(env: Env): string {
  return (
    pathVariable(env, MACHINE_CONFIG_VARIABLE) ?? join(userPaths(env).config_dir, "machine.yaml")
  );
}

/** True where `path` is `root` or below it; both absolute, links resolved by the caller. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}

/**
 * The whole environment of a helper program (git, flock). Relative entries of PATH are left out, and
 * entries inside `foreign`: a repository must not bring the `git` that looks at it.
 */
export function toolEnv(env: Env, foreign?: string): Record<string, string> {
  const entries = (variable(env, "PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(":");
  const safe = entries.filter(
    (entry) => isAbsolute(entry) && (foreign === undefined || !isInside(foreign, entry)),
  );
  return { PATH: safe.join(":"), LC_ALL: "C" };
}
