import type { Stats } from "node:fs";
import { dirname } from "node:path";
import { shellWord } from "../core/shell-word.ts";
import { configError, systemErrorCode, type TouchstonedError } from "../core/errors.ts";
import { isInside } from "./paths.ts";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} = process.getBuiltinModule("node:fs");

/** Who asks: a file may be owned by this user or root, and by nobody else. */
export interface Asker {
  uid: number;
  gid: number;
  home: string;
  /** True where `gid` is a group of this user alone. */
  private_group: boolean;
}

/**
 * True where the group `gid` is the private one of `uid`: its owner's primary group, nobody else's
 * primary group, and without further members. Where that cannot be read (a directory service), no.
 */
export function isPrivateGroup(gid: number, uid: number, passwd: string, group: string): boolean {
  const users = passwd.split("\n").map((line) => line.split(":"));
  const owner = users.find((fields) => fields[2] === String(uid));
  if (owner === undefined || owner[3] !== String(gid)) return false;
  if (users.some((fields) => fields[3] === String(gid) && fields[2] !== String(uid))) return false;
  const entry = group
    .split("\n")
    .map((line) => line.split(":"))
    .find((fields) => fields[2] === String(gid));
  const members = (entry?.[3] ?? "").split(",").filter((name) => name !== "");
  return entry !== undefined && members.every((name) => name === owner[0]);
}

function textOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The user of this process. */
export function askingUser(home: string): Asker {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const private_group = isPrivateGroup(gid, uid, textOr("/etc/passwd"), textOr("/etc/group"));
  return { uid, gid, home, private_group };
}

/** What is wrong with owner and mode of one file or directory; null where nothing is. */
export function modeFault(
  path: string,
  stats: Pick<Stats, "uid" | "gid" | "mode">,
  asker: Asker,
): string | null {
  if (stats.uid !== asker.uid && stats.uid !== 0) {
    return `${path} belongs to user ${stats.uid}, not to you or root; run: chown ${asker.uid} ${shellWord(path)}`;
  }
  if ((stats.mode & 0o002) !== 0) {
    return `${path} can be written by everyone; run: chmod go-w ${shellWord(path)}`;
  }
  const ownGroup = asker.private_group && stats.gid === asker.gid && stats.uid === asker.uid;
  if ((stats.mode & 0o020) !== 0 && !ownGroup) {
    return `${path} can be written by its group; run: chmod g-w ${shellWord(path)}`;
  }
  return null;
}

/** A directory like /tmp: everyone may write, but nobody may rename what is another one's. */
function isSticky(stats: Stats): boolean {
  return stats.isDirectory() && (stats.mode & 0o1000) !== 0 && stats.uid === 0;
}

/**
 * As sshd does: the file and each directory above it, up to the home directory (outside of it: up
 * to the first one), belong to the user or root, and nobody else may write them: who can rename a
 * directory can put another file in the place of ours. `path` has its links resolved.
 */
export function chainFault(path: string, asker: Asker): string | null {
  const home = realpathIfThere(asker.home);
  const inHome = home !== undefined && isInside(home, path);
  let at = path;
  for (let level = 0; ; level += 1) {
    const stats = statSync(at);
    const fault = level > 0 && isSticky(stats) ? null : modeFault(at, stats, asker);
    if (fault !== null) return fault;
    if (at === home || dirname(at) === at || (!inHome && level > 0)) return null;
    at = dirname(at);
  }
}

/** `path` with links resolved, or undefined where it is not there. */
export function realpathIfThere(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a FIFO";
  if (stats.isSocket()) return "a socket";
  if (stats.isSymbolicLink()) return "a symbolic link";
  return "a device";
}

function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let length = 0;
  for (let got = -1; got !== 0 && length < size; length += got) {
    got = readSync(fd, bytes, length, size - length, null);
  }
  return bytes.subarray(0, length);
}

/**
 * Reads a file that somebody else may have put there: a regular one of at most `max_bytes`, never
 * waiting for a FIFO, never through a link. Undefined where there is none; else a configuration
 * error (78) that says what it is instead.
 */
export function readGuarded(path: string, max_bytes: number): string | undefined {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return undefined;
  if (!before.isFile()) {
    throw refused(path, `it is ${kindOf(before)}`, "Put a regular file there.");
  }
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw refused(path, `cannot be opened (${systemErrorCode(error) ?? "unknown"})`, undefined);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw refused(path, `it is ${kindOf(stats)}`, "Put a regular file there.");
    const bytes = readAll(fd, max_bytes + 1);
    if (bytes.length > max_bytes) {
      throw refused(
        path,
        `it has over ${max_bytes} bytes`,
        "A file of this kind needs a few hundred.",
      );
    }
    return decode(path, bytes);
  } finally {
    closeSync(fd);
  }
}

function decode(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refused(path, "it is not UTF-8 text", "Save it as UTF-8.");
  }
}

function refused(path: string, why: string, hint: string | undefined): TouchstonedError {
  return configError(`${path}: ${why}`, hint, "file_refused");
}
