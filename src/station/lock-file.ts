import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  statSync,
  type Stats,
} from "node:fs";
import { dirname } from "node:path";
import {
  configError,
  EXIT,
  errorMessage,
  systemErrorCode,
  TouchstonedError,
} from "../core/errors.ts";
import { runTool } from "../core/tool.ts";
import { toolEnv } from "./paths.ts";

/** `open(2)` of macOS takes the lock itself; Node passes the numbers on but has no names for them. */
const DARWIN_SHLOCK = 0x10;
const DARWIN_EXLOCK = 0x20;
const LOCK_MODE = 0o640;

const darwin = process.platform === "darwin";

const HINT =
  "Give a path that you may write: lock_path in machine.yaml, or TOUCHSTONED_LOCK. Everything that measures on this machine must use the same one.";

function lockFileError(path: string, error: unknown): TouchstonedError {
  const reasons: Record<string, string> = {
    EACCES: "permission denied; a shared lock is open to its group only",
    EPERM: "permission denied",
    EROFS: "the file system is read-only",
    ENOENT: `there is no directory ${dirname(path)}`,
    ENOTDIR: `${dirname(path)} is not a directory`,
    ELOOP: "it is a symbolic link, and a link can be turned to another file",
    EISDIR: "it is a directory",
    ENOSPC: "the disk is full",
  };
  const reason = reasons[systemErrorCode(error) ?? ""] ?? errorMessage(error);
  return configError(`model lock ${path}: ${reason}`, HINT, "lock_unusable");
}

function openOrMake(path: string, extra: number): number {
  // Reading is enough for flock(2), so members of the file's group may take the lock, too.
  const flags = constants.O_NOFOLLOW | constants.O_NONBLOCK | extra;
  for (;;) {
    try {
      return openSync(path, constants.O_RDONLY | flags);
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
    }
    try {
      const make = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
      const fd = openSync(path, make | flags, LOCK_MODE);
      fchmodSync(fd, LOCK_MODE); // whatever the umask says
      return fd;
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error; // else somebody else just made it
    }
  }
}

/** Opens the lock file, made once and never removed. Throws a configuration error (78). */
function openLockFile(path: string, extra = 0): number {
  let fd: number;
  try {
    fd = openOrMake(path, extra);
  } catch (error) {
    if (systemErrorCode(error) === "EAGAIN") throw error;
    throw lockFileError(path, error);
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw configError(`model lock ${path}: it is not a regular file`, HINT, "lock_unusable");
}

async function flockCommand(fd: number, how: "-x" | "-s" | "-u"): Promise<boolean> {
  const result = await runTool("flock", ["-n", how, "3"], {
    timeout_s: 30,
    descriptors: [fd],
    env: toolEnv(process.env),
  });
  if (result.exit_code === 0) return true;
  if (result.exit_code === 1 && result.stderr === "") return false;
  const missing = result.error !== null;
  const reason = result.stderr.trim() || (result.error ?? `signal ${result.signal ?? "none"}`);
  throw new TouchstonedError({
    code: "flock_failed",
    exitCode: EXIT.unavailable,
    message: `the flock program failed: ${reason}`,
    ...(missing ? { hint: "Install util-linux; it brings flock." } : {}),
  });
}

/**
 * Opens the file and takes its kernel lock without waiting; undefined where another one has it.
 * Node has no flock(2). On Linux the `flock` program locks *our* open file, given to it as its
 * descriptor 3, and the lock stays when that program has ended.
 */
export async function openLocked(
  path: string,
  how: "exclusive" | "shared",
): Promise<number | undefined> {
  if (darwin) return openLockedDarwin(path, how);
  const fd = openLockFile(path);
  let locked = false;
  try {
    locked = await flockCommand(fd, how === "exclusive" ? "-x" : "-s");
  } finally {
    if (!locked) closeSync(fd);
  }
  return locked ? fd : undefined;
}

function openLockedDarwin(path: string, how: "exclusive" | "shared"): number | undefined {
  try {
    return openLockFile(path, how === "exclusive" ? DARWIN_EXLOCK : DARWIN_SHLOCK);
  } catch (error) {
    if (systemErrorCode(error) === "EAGAIN") return undefined;
    throw error;
  }
}

/**
 * Takes the lock off the open file itself, so that a child which still has the descriptor does not
 * go on holding it. macOS has no program for that; there the lock ends with its last descriptor.
 */
export async function unlock(fd: number): Promise<void> {
  if (!darwin) await flockCommand(fd, "-u");
}

/** The file at `path` now, or undefined where there is none. */
export function statIfThere(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** True where `fd` is still the file at `path`: somebody may have removed it and made another one. */
export function isFileAt(fd: number, path: string): boolean {
  const [ours, there] = [fstatSync(fd), statIfThere(path)];
  return there !== undefined && ours.dev === there.dev && ours.ino === there.ino;
}

const EXCLUSIVE_FLOCK = /^lock:.*\bFLOCK\b.*\bWRITE\b/m;

/**
 * True where our open file `fd` of `path` carries the exclusive lock. Linux tells it of each
 * descriptor. macOS does not; there it must do that the lock is refused to another open of the file.
 */
export function carriesLock(fd: number, path: string): boolean {
  if (!darwin) {
    try {
      return EXCLUSIVE_FLOCK.test(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"));
    } catch {
      return false;
    }
  }
  const other = openLockedDarwin(path, "exclusive");
  if (other !== undefined) closeSync(other);
  return other === undefined;
}
