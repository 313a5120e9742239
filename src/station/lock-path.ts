import { accessSync, constants } from "node:fs";
import { dirname, join } from "node:path";
import { ensureDir } from "../core/files.ts";
import { statIfThere } from "./lock-file.ts";
import { pathVariable, userPaths, type Env } from "./paths.ts";

const LOCK_VARIABLE = "TOUCHSTONED_LOCK";
const LOCK_NAME = "model.lock";

/** Made by an administrator, for all users of the machine; the same for everyone, so no variable. */
const SYSTEM_DIRS: Partial<Record<NodeJS.Platform, string>> = {
  linux: "/var/lib/touchstoned",
  darwin: "/Library/Application Support/touchstoned",
};

export interface LockPlace {
  path: string;
  source: "environment" | "machine.yaml" | "system" | "user";
  /** One sentence for a person: why this path and no other. */
  why: string;
}

function accessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Which file is this machine's model lock: `TOUCHSTONED_LOCK`, `lock_path` of machine.yaml, the
 * system-wide one where its directory is there and we may use it, else one of this user's own.
 * Nothing is made. Throws a configuration error where the variable is no absolute path.
 */
export function lockPlace(
  env: Env,
  machine: { lock_path?: string | undefined },
  system_dir: string | undefined = SYSTEM_DIRS[process.platform],
): LockPlace {
  const named = pathVariable(env, LOCK_VARIABLE);
  if (named !== undefined) {
    return { path: named, source: "environment", why: `${LOCK_VARIABLE} names it` };
  }
  if (machine.lock_path !== undefined) {
    return { path: machine.lock_path, source: "machine.yaml", why: "lock_path names it" };
  }
  let missing = "there is no system-wide lock directory";
  if (system_dir !== undefined) {
    const path = join(system_dir, LOCK_NAME);
    const usable =
      statIfThere(path) === undefined
        ? accessible(system_dir, constants.W_OK | constants.X_OK)
        : accessible(path, constants.R_OK);
    if (usable) return { path, source: "system", why: `${system_dir} is there, for all users` };
    missing =
      statIfThere(system_dir) === undefined
        ? `there is no ${system_dir}`
        : `${system_dir} is there, but this user may not use the lock in it`;
  }
  return {
    path: join(userPaths(env).state_dir, LOCK_NAME),
    source: "user",
    why: `${missing}: a lock of this user's own, which other users' programs do not see`,
  };
}

/** The same for who is about to take it: the directory of a user's own lock is made. */
export function resolveLockPath(
  env: Env,
  machine: { lock_path?: string | undefined },
  system_dir?: string,
): LockPlace {
  const place = lockPlace(env, machine, system_dir);
  if (place.source === "user") ensureDir(dirname(place.path), 0o700);
  return place;
}
