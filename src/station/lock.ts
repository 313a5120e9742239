import { closeSync, fstatSync } from "node:fs";
import { isoTime, type Clock } from "../core/clock.ts";
import { configError, EXIT, TouchstonedError } from "../core/errors.ts";
import { commandLine } from "../core/process-table.ts";
import { carriesLock, isFileAt, openLocked, statIfThere, unlock } from "./lock-file.ts";
import { leaseText, livingLeases, type LeaseInfo } from "./lease-info.ts";
import {
  livingHolder,
  lockingProcesses,
  removeSidecar,
  writeSidecar,
  type LockHolder,
  type LockProcess,
} from "./lock-holder.ts";
import { Turn } from "./lock-turn.ts";
import { variable, type Env } from "./paths.ts";

const LOCK_FD_VARIABLE = "TOUCHSTONED_LOCK_FD";
const LOCK_PATH_VARIABLE = "TOUCHSTONED_LOCK_PATH";

/** The one lock of this machine's models, held exclusively. */
export interface ModelLock {
  readonly path: string;
  readonly fd: number;
  readonly dev: number;
  readonly ino: number;
  /** Gives our share back. A child that inherited the descriptor goes on holding the lock. */
  release(): void;
}

export interface LockStatus {
  path: string;
  held: boolean;
  /** `shared`: by those who hold slots; null where it is free. */
  mode: "exclusive" | "shared" | null;
  /** What the holder says of itself, where it is one of ours and proven alive. */
  holder: LockHolder | null;
  /** Those who share it and hold a slot each. */
  shared: LeaseInfo[];
  /** Processes that hold it, as far as this user may see. */
  processes: LockProcess[];
  /** One sentence for a person. */
  text: string;
}

export interface AcquireOptions {
  /** Absolute path of the lock file; its directory must be there. */
  path: string;
  /** Longest wait, seconds; 0 = do not wait. */
  wait_s: number;
  holder: { purpose: string; run_id: string | null };
  clock: Clock;
  signal?: AbortSignal;
  /** For one who tries again and again without waiting here: keeps its place between the tries. */
  turn?: Turn;
  /** Called once, when there is something to wait for. */
  onWait?: (status: LockStatus) => void;
  /** 0 to 1, for the jitter. */
  random?: () => number;
}

const POLL_MS = { least: 150, spread: 250 };
/** One look more where nobody may wait: `lock status` itself takes the lock for some milliseconds. */
const SECOND_LOOK_MS = 60;

function describe(holder: LockHolder | undefined, processes: readonly LockProcess[]): string {
  if (holder !== undefined) {
    const run = holder.run_id === null ? "" : `, run ${holder.run_id}`;
    return `held by pid ${holder.pid} (${holder.purpose}${run}) since ${holder.since}`;
  }
  // A step inherits the lock, so it may have it longer than the program that took it lives.
  const step = processes.find(({ pid }) => commandLine(pid).includes("_step"));
  if (step !== undefined) {
    return `held by a step of touchstoned (pid ${step.pid}) that runs on although what started it was killed`;
  }
  const seen = processes.map(({ pid, command }) => `pid ${pid} (${command})`).join(", ");
  return `held by another program (a shell?)${seen === "" ? "" : `: ${seen}`}, since when is not known`;
}

function describeShared(shared: readonly LeaseInfo[], processes: readonly LockProcess[]): string {
  if (shared.length > 0) return `shared by ${shared.map(leaseText).join(", ")}`;
  const seen = processes.map(({ pid, command }) => `pid ${pid} (${command})`).join(", ");
  return `shared by another program${seen === "" ? "" : `: ${seen}`}`;
}

/** Takes the lock for the moment of a look; false where somebody is in the way. */
async function wouldGet(path: string, how: "exclusive" | "shared"): Promise<boolean> {
  const fd = await openLocked(path, how);
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

/** Who holds the lock. Makes the file where there is none; takes nothing for longer than a look. */
export async function lockStatus(path: string): Promise<LockStatus> {
  const free = { path, held: false, mode: null, holder: null, shared: [], processes: [] };
  const file = statIfThere(path);
  if (file === undefined) return { ...free, text: "free (never taken yet)" };
  if (await wouldGet(path, "exclusive")) return { ...free, text: "free" };
  const processes = lockingProcesses(path, file);
  if (await wouldGet(path, "shared")) {
    const shared = livingLeases(path);
    const text = describeShared(shared, processes);
    return { path, held: true, mode: "shared", holder: null, shared, processes, text };
  }
  const holder = livingHolder(path) ?? null;
  const text = describe(holder ?? undefined, processes);
  return { path, held: true, mode: "exclusive", holder, shared: [], processes, text };
}

function heldLock(path: string, fd: number, onRelease: () => void): ModelLock {
  const { dev, ino } = fstatSync(fd);
  let held = true;
  return {
    path,
    fd,
    dev,
    ino,
    release() {
      if (!held) return;
      held = false;
      onRelease();
      closeSync(fd);
    },
  };
}

function stopped(path: string): TouchstonedError {
  return new TouchstonedError({
    code: "cancelled",
    exitCode: EXIT.busy,
    message: `stopped while waiting for the model lock ${path}`,
  });
}

async function busy(path: string): Promise<TouchstonedError> {
  const { held, text } = await lockStatus(path);
  return new TouchstonedError({
    code: "lock_busy",
    exitCode: EXIT.busy,
    message: `the model lock ${path} is ${held ? text : "busy: its holder has just let go"}`,
    hint: "Try later, or wait for it (--lock-wait SECONDS; `lock run`: --wait SECONDS). `touchstoned lock status` says who holds it.",
  });
}

/**
 * Takes the model lock. Throws `lock_busy` (exit 75) that names the holder where it is not free
 * within `wait_s`, `lock_unusable` (78) where the file cannot be used.
 */
export async function acquireModelLock(options: AcquireOptions): Promise<ModelLock> {
  const turn = options.turn ?? new Turn(options.path);
  let kept = false;
  try {
    return await acquireInTurn(options, turn);
  } catch (error) {
    kept = options.turn !== undefined && options.signal?.aborted !== true;
    throw error;
  } finally {
    if (kept) turn.keep();
    else turn.release();
  }
}

async function acquireInTurn(options: AcquireOptions, turn: Turn): Promise<ModelLock> {
  const { path, clock, signal } = options;
  const random = options.random ?? Math.random;
  const deadline_ms = clock.monotonic_ms() + options.wait_s * 1000;
  for (let look = 0; ; look += 1) {
    if (signal?.aborted === true) throw stopped(path);
    const fd = await openLocked(path, "exclusive");
    if (fd !== undefined) {
      if (isFileAt(fd, path)) {
        writeSidecar(path, { ...options.holder, since: isoTime(clock.now_ms()) });
        return heldLock(path, fd, () => removeSidecar(path));
      }
      // Removed and made anew between our open and our lock: ours is a lock on nothing.
      closeSync(fd);
      continue;
    }
    // Whoever will not wait here has no place in it, unless it comes back.
    if (options.wait_s > 0 || options.turn !== undefined) await turn.take();
    const left_ms = deadline_ms - clock.monotonic_ms();
    if (left_ms <= 0 && look > 0) throw await busy(path);
    if (look === 0 && options.wait_s > 0) options.onWait?.(await lockStatus(path));
    // flock is not fair, and two that poll in step would meet for ever.
    const pause_ms = POLL_MS.least + random() * POLL_MS.spread;
    await clock.sleep(left_ms <= 0 ? SECOND_LOOK_MS : Math.min(pause_ms, left_ms), signal);
  }
}

/**
 * Ends the lock for everyone who inherited it, too, and then releases it. For a holder whose child
 * has ended, and which must not wait for what that child left running.
 */
export async function endModelLock(lock: ModelLock): Promise<void> {
  removeSidecar(lock.path);
  try {
    await unlock(lock.fd);
  } finally {
    lock.release();
  }
}

/**
 * How a child gets the lock: `env` in its environment, `descriptor` as its number 3. It then holds
 * the lock as long as it lives, also when we are killed.
 */
export function lockEnvironment(lock: ModelLock): {
  env: Record<string, string>;
  descriptor: number;
} {
  return {
    env: { [LOCK_FD_VARIABLE]: "3", [LOCK_PATH_VARIABLE]: lock.path },
    descriptor: lock.fd,
  };
}

function notInherited(reason: string): TouchstonedError {
  return configError(
    `the model lock was not handed over: ${reason}`,
    `A program between us and the holder closed the descriptor. Let it pass descriptor 3 on, or take ${LOCK_FD_VARIABLE} and ${LOCK_PATH_VARIABLE} out of the environment.`,
    "lock_not_inherited",
  );
}

/**
 * The lock that our parent handed over, or undefined where none did. The environment alone proves
 * nothing: the descriptor must be the very file at that path, and carry the lock. Throws
 * `lock_not_inherited` (exit 78) where it does not.
 */
export function inheritedModelLock(env: Env): ModelLock | undefined {
  const [number, path] = [variable(env, LOCK_FD_VARIABLE), variable(env, LOCK_PATH_VARIABLE)];
  if (number === undefined && path === undefined) return undefined;
  if (number === undefined || path === undefined) {
    throw notInherited(`only one of ${LOCK_FD_VARIABLE} and ${LOCK_PATH_VARIABLE} is set`);
  }
  if (!/^\d{1,4}$/.test(number) || Number(number) < 3) {
    throw notInherited(`${LOCK_FD_VARIABLE} is "${number}", not a descriptor from 3 on`);
  }
  const fd = Number(number);
  let same = false;
  try {
    same = isFileAt(fd, path);
  } catch {
    throw notInherited(`descriptor ${fd} is not open`);
  }
  if (!same) throw notInherited(`descriptor ${fd} is not the file ${path}`);
  if (!carriesLock(fd, path)) throw notInherited(`descriptor ${fd} of ${path} carries no lock`);
  return heldLock(path, fd, () => undefined);
}
