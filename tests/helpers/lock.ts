import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { acquireModelLock, type LockStatus, type ModelLock } from "../../src/station/index.ts";
import { isolatedEnv } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

/** How a shell takes an exclusive lock here, without waiting; exit 1 (or 75 of lockf) = not free. */
export const SHELL_LOCK =
  process.platform === "darwin" ? ["lockf", "-k", "-t", "0"] : ["flock", "-n", "-x"];

export interface Place {
  home: string;
  path: string;
  env: Record<string, string>;
}

/** A lock of the test's own. */
export function place(): Place {
  const home = tempDir();
  return { home, path: join(home, "model.lock"), env: isolatedEnv(home) };
}

/** Whether a shell gets the lock now. */
export function shellGets(path: string): boolean {
  const [file = "", ...args] = SHELL_LOCK;
  return spawnSync(file, [...args, path, "true"]).status === 0;
}

/** Takes the lock in this very process. */
export function take(
  path: string,
  wait_s = 0,
  onWait?: (status: LockStatus) => void,
): Promise<ModelLock> {
  return acquireModelLock({
    path,
    wait_s,
    holder: { purpose: "test", run_id: "RUN1" },
    clock: systemClock,
    ...(onWait === undefined ? {} : { onWait }),
  });
}
