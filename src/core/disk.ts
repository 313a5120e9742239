import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  statfsSync,
  unlinkSync,
  writeSync,
  type BigIntStats,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "./errors.ts";
import { syncDir } from "./files.ts";

export type FileKindOnDisk = "file" | "directory" | "symlink" | "fifo" | "socket" | "device";

/** What a look at a directory entry shows; links are not followed. */
export interface DiskStat {
  kind: FileKindOnDisk;
  dev: bigint;
  ino: bigint;
  nlink: number;
  /** Permission bits. */
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtime_ns: bigint;
  ctime_ns: bigint;
}

/**
 * What a file is by its outside. Each write, rename, link or change of mode changes it, but for a second
 * one within the same tick of the clock that dates them.
 */
export function fileKey(stat: DiskStat): string {
  const { kind, dev, ino, size, mtime_ns, ctime_ns } = stat;
  return `${kind}:${dev}:${ino}:${size}:${mtime_ns}:${ctime_ns}`;
}

/** A file that a text names and that was read, so that it can be told whether it still is the same. */
export interface SeenFile {
  /** As the text writes it. */
  path: string;
  /** Where it was: absolute, links resolved. */
  real: string;
  /** `fileKey`, the same before and after it was read. */
  key: string;
}

/** A file read through one descriptor, with what it was before and after. */
export interface DiskRead {
  before: DiskStat;
  after: DiskStat;
  /** Empty where `before` is no regular file. */
  bytes: Buffer;
}

/**
 * Files as an argument, for code that must be right at every point where the machine may stop. The
 * calls are the system's own, and throw its errors (`ENOSPC`, `EEXIST` ...). What is not synced may
 * be lost: names with `syncDir` of their directory, contents by `createSynced` alone.
 */
export interface Disk {
  readdir(path: string): string[];
  /** Undefined where there is nothing by that name. */
  lstat(path: string): DiskStat | undefined;
  /** At most `max_bytes` + 1 bytes. Never waits for a FIFO; throws ELOOP for a link. */
  read(path: string, max_bytes: number): DiskRead;
  /** Makes a new file (else EEXIST) and syncs what is in it. Half a file is taken away again. */
  createSynced(path: string, bytes: Uint8Array | string, mode: number): void;
  /** The same without the sync: a crash of the machine may leave any part of it. */
  create(path: string, bytes: Uint8Array | string, mode: number): void;
  link(from: string, to: string): void;
  /** Replaces what is at `to`. */
  rename(from: string, to: string): void;
  unlink(path: string): void;
  mkdir(path: string, mode: number): void;
  rmdir(path: string): void;
  syncDir(path: string): void;
  /**
   * Makes contents of files and names in directories durable, all at once and beside what else goes
   * on: the disk writes them together, which takes it hardly longer than one of them.
   */
  sync(paths: readonly string[]): Promise<void>;
}

function kindOf(stats: BigIntStats): FileKindOnDisk {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isFIFO()) return "fifo";
  return stats.isSocket() ? "socket" : "device";
}

function diskStat(stats: BigIntStats): DiskStat {
  return {
    kind: kindOf(stats),
    dev: stats.dev,
    ino: stats.ino,
    nlink: Number(stats.nlink),
    mode: Number(stats.mode) & 0o7777,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    size: Number(stats.size),
    mtime_ns: stats.mtimeNs,
    ctime_ns: stats.ctimeNs,
  };
}

function readUpTo(fd: number, limit: number, size: number): Buffer {
  // One byte more than it has, so that a file that grows meanwhile shows it.
  const bytes = Buffer.alloc(Math.min(limit, size + 1));
  let length = 0;
  for (let got = -1; got !== 0 && length < bytes.length; length += got) {
    got = readSync(fd, bytes, length, bytes.length - length, null);
  }
  return bytes.subarray(0, length);
}

function readThrough(path: string, max_bytes: number): DiskRead {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = diskStat(fstatSync(fd, { bigint: true }));
    const regular = before.kind === "file";
    const bytes = regular ? readUpTo(fd, max_bytes + 1, before.size) : Buffer.alloc(0);
    return { before, after: diskStat(fstatSync(fd, { bigint: true })), bytes };
  } finally {
    closeSync(fd);
  }
}

function createFile(path: string, data: Uint8Array | string, mode: number, synced: boolean): void {
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  const fd = openSync(path, "wx", mode);
  let whole = false;
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    if (synced) fsyncSync(fd);
    whole = true;
  } finally {
    closeSync(fd);
    if (!whole) unlinkSync(path);
  }
}

/** Only the wait for the disk is left to another thread: a file handle would cost more than it. */
function syncFile(path: string): Promise<void> {
  const fd = openSync(path, "r");
  return new Promise((resolve, reject) => {
    fsync(fd, (error) => {
      closeSync(fd);
      if (error === null) resolve();
      else reject(error);
    });
  });
}

export const realDisk: Disk = {
  readdir: (path) => readdirSync(path),
  lstat(path) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : diskStat(stats);
  },
  read: readThrough,
  createSynced: (path, bytes, mode) => createFile(path, bytes, mode, true),
  create: (path, bytes, mode) => createFile(path, bytes, mode, false),
  link: linkSync,
  rename: renameSync,
  unlink: unlinkSync,
  mkdir(path, mode) {
    mkdirSync(path, { mode });
  },
  rmdir: rmdirSync,
  syncDir,
  async sync(paths) {
    await Promise.all(paths.map(syncFile));
  },
};

/** True where something was there to be taken away. */
export function unlinkIfThere(disk: Disk, path: string): boolean {
  try {
    disk.unlink(path);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Ending of the temporary files of `replaceSynced`; a crash may leave one behind. */
export const TEMPORARY_SUFFIX = ".new";

/**
 * Puts a whole file at `path`, durably: after a crash there is the old one (or none) or the new one.
 * The temporary name is always the same, so that what a crash left behind is taken up again; there
 * must be one writer.
 */
export function replaceSynced(disk: Disk, path: string, bytes: Uint8Array | string, mode: number) {
  const temporary = freshTemporary(disk, path);
  disk.createSynced(temporary, bytes, mode);
  disk.rename(temporary, path);
  disk.syncDir(dirname(path));
}

/** The same, where the durable part is to be waited for: living readers see it before. */
export async function replaceSoon(
  disk: Disk,
  path: string,
  bytes: Uint8Array | string,
  mode: number,
): Promise<void> {
  const temporary = freshTemporary(disk, path);
  disk.create(temporary, bytes, mode);
  disk.rename(temporary, path);
  await disk.sync([path, dirname(path)]);
}

function freshTemporary(disk: Disk, path: string): string {
  const temporary = join(dirname(path), `.${basename(path)}${TEMPORARY_SUFFIX}`);
  unlinkIfThere(disk, temporary);
  return temporary;
}

/** Makes a directory durably where there is none; its parent must be there. Throws ENOTDIR where
 *  something else has the name (a link, for one). */
export function ensureDirSynced(disk: Disk, path: string, mode: number): void {
  const there = disk.lstat(path);
  if (there?.kind === "directory") return;
  if (there !== undefined) {
    throw Object.assign(new Error(`ENOTDIR: ${path} is no directory`), { code: "ENOTDIR" });
  }
  disk.mkdir(path, mode);
  disk.syncDir(dirname(path));
}

/** Removes a directory and everything in it, without following links. */
export function removeTree(disk: Disk, path: string): void {
  if (disk.lstat(path)?.kind !== "directory") return;
  for (const name of disk.readdir(path)) {
    const inner = join(path, name);
    if (disk.lstat(inner)?.kind === "directory") removeTree(disk, inner);
    else unlinkIfThere(disk, inner);
  }
  disk.rmdir(path);
}

/** Room that is left for us where `path` is, MB; null where nobody can tell. */
export function freeDiskMb(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return (bavail * bsize) / 1e6;
  } catch {
    return null;
  }
}
