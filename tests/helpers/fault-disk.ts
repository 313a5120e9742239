import { basename, dirname } from "node:path";
import type { Disk, DiskRead, DiskStat, FileKindOnDisk } from "../../src/core/disk.ts";

/** What comes at a step of a test that ends the process there. */
export class Crash extends Error {}

export type FaultCode = "ENOSPC" | "EIO" | "EACCES" | "EMFILE";

interface Inode {
  ino: bigint;
  kind: FileKindOnDisk;
  mode: number;
  uid: number;
  content: Buffer;
  /** As it was at the last sync; null where there was none. */
  synced: Buffer | null;
  mtime_ns: bigint;
  ctime_ns: bigint;
  entries: Map<string, Inode>;
  /** Of a directory: the names that survive a crash. */
  durable: Map<string, Inode>;
}

/** A change of names that a crash may still lose. */
interface Change {
  add: { dir: Inode; name: string; inode: Inode } | null;
  remove: { dir: Inode; name: string } | null;
}

/** How much of contents that were never synced is there after a crash. */
export type Tear = "none" | "one" | "half" | "all_but_one" | "all";
export const TEARS: readonly Tear[] = ["none", "one", "half", "all_but_one", "all"];

function torn(content: Buffer, tear: Tear): Buffer {
  const { length } = content;
  const kept = { none: 0, one: 1, half: length >> 1, all_but_one: length - 1, all: length }[tear];
  return content.subarray(0, Math.max(0, Math.min(length, kept)));
}

function failure(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code });
}

/**
 * A disk in memory that tells what was synced from what was not. `step` is called before each thing
 * that a real disk does, and may throw: `Crash`, or a system's error.
 */
export class FaultDisk implements Disk {
  /** Time of the files' clock. */
  now_ns: () => bigint;
  step: (call: string, path: string) => void = () => {};
  readonly #root: Inode;
  #pending: Change[] = [];
  #inodes = 0n;

  constructor(now_ns: () => bigint = () => 0n) {
    this.now_ns = now_ns;
    this.#root = this.#inode("directory", 0o755);
  }

  #inode(kind: FileKindOnDisk, mode: number): Inode {
    const now_ns = this.now_ns();
    return {
      ino: (this.#inodes += 1n),
      kind,
      mode,
      uid: 1000,
      content: Buffer.alloc(0),
      synced: null,
      mtime_ns: now_ns,
      ctime_ns: now_ns,
      entries: new Map(),
      durable: new Map(),
    };
  }

  #find(path: string): Inode | undefined {
    let at: Inode | undefined = this.#root;
    for (const part of path.split("/").filter((name) => name !== "")) {
      at = at.entries.get(part);
      if (at === undefined) return undefined;
    }
    return at;
  }

  #get(path: string, call: string): Inode {
    const inode = this.#find(path);
    if (inode === undefined) throw failure("ENOENT", call, path);
    return inode;
  }

  #dir(path: string, call: string): Inode {
    const dir = this.#get(path, call);
    if (dir.kind !== "directory") throw failure("ENOTDIR", call, path);
    return dir;
  }

  #stat(inode: Inode): DiskStat {
    const names = (dir: Inode): number =>
      [...dir.entries.values()].reduce(
        (sum, one) => sum + (one === inode ? 1 : 0) + (one.kind === "directory" ? names(one) : 0),
        0,
      );
    return {
      kind: inode.kind,
      dev: 1n,
      ino: inode.ino,
      nlink: names(this.#root),
      mode: inode.mode,
      uid: inode.uid,
      gid: inode.uid,
      size: inode.content.length,
      mtime_ns: inode.mtime_ns,
      ctime_ns: inode.ctime_ns,
    };
  }

  #change(change: Change): void {
    if (change.remove !== null) change.remove.dir.entries.delete(change.remove.name);
    if (change.add !== null) change.add.dir.entries.set(change.add.name, change.add.inode);
    this.#pending.push(change);
  }

  /** Makes a change durable, and before it what it stands on: earlier changes of the same names. */
  #settle(change: Change): void {
    const at = this.#pending.indexOf(change);
    if (at < 0) return;
    const touches = (one: Change): boolean =>
      [one.add, one.remove].some((a) =>
        [change.add, change.remove].some(
          (b) => a !== null && b !== null && a.dir === b.dir && a.name === b.name,
        ),
      );
    for (const earlier of this.#pending.slice(0, at).filter(touches)) this.#settle(earlier);
    this.#pending.splice(this.#pending.indexOf(change), 1);
    if (change.remove !== null) change.remove.dir.durable.delete(change.remove.name);
    if (change.add !== null) change.add.dir.durable.set(change.add.name, change.add.inode);
  }

  readdir(path: string): string[] {
    this.step("readdir", path);
    return [...this.#dir(path, "readdir").entries.keys()];
  }

  lstat(path: string): DiskStat | undefined {
    this.step("lstat", path);
    const inode = this.#find(path);
    return inode === undefined ? undefined : this.#stat(inode);
  }

  read(path: string, max_bytes: number): DiskRead {
    this.step("read", path);
    const inode = this.#get(path, "open");
    if (inode.kind === "symlink") throw failure("ELOOP", "open", path);
    const before = this.#stat(inode);
    const bytes = Buffer.from(inode.content.subarray(0, max_bytes + 1));
    return { before, after: this.#stat(inode), bytes };
  }

  createSynced(path: string, data: Uint8Array | string, mode: number): void {
    this.#create(path, data, mode, true);
  }

  create(path: string, data: Uint8Array | string, mode: number): void {
    this.#create(path, data, mode, false);
  }

  #create(path: string, data: Uint8Array | string, mode: number, synced: boolean): void {
    this.step("open", path);
    const dir = this.#dir(dirname(path), "open");
    const name = basename(path);
    if (dir.entries.has(name)) throw failure("EEXIST", "open", path);
    const inode = this.#inode("file", mode);
    this.#change({ add: { dir, name, inode }, remove: null });
    try {
      this.step("write", path);
      inode.content = Buffer.from(data);
      if (!synced) return;
      this.step("fsync", path);
      inode.synced = inode.content;
    } catch (error) {
      if (!(error instanceof Crash)) this.unlink(path);
      throw error;
    }
  }

  link(from: string, to: string): void {
    this.step("link", to);
    const inode = this.#get(from, "link");
    const dir = this.#dir(dirname(to), "link");
    if (dir.entries.has(basename(to))) throw failure("EEXIST", "link", to);
    inode.ctime_ns = this.now_ns();
    this.#change({ add: { dir, name: basename(to), inode }, remove: null });
  }

  rename(from: string, to: string): void {
    this.step("rename", to);
    const inode = this.#get(from, "rename");
    const dir = this.#dir(dirname(to), "rename");
    inode.ctime_ns = this.now_ns();
    this.#change({
      add: { dir, name: basename(to), inode },
      remove: { dir: this.#dir(dirname(from), "rename"), name: basename(from) },
    });
  }

  unlink(path: string): void {
    this.step("unlink", path);
    const inode = this.#get(path, "unlink");
    if (inode.kind === "directory") throw failure("EPERM", "unlink", path);
    inode.ctime_ns = this.now_ns();
    const remove = { dir: this.#dir(dirname(path), "unlink"), name: basename(path) };
    this.#change({ add: null, remove });
  }

  mkdir(path: string, mode: number): void {
    this.step("mkdir", path);
    const dir = this.#dir(dirname(path), "mkdir");
    if (dir.entries.has(basename(path))) throw failure("EEXIST", "mkdir", path);
    const inode = this.#inode("directory", mode);
    this.#change({ add: { dir, name: basename(path), inode }, remove: null });
  }

  rmdir(path: string): void {
    this.step("rmdir", path);
    const inode = this.#dir(path, "rmdir");
    if (inode.entries.size > 0) throw failure("ENOTEMPTY", "rmdir", path);
    this.#change({
      add: null,
      remove: { dir: this.#dir(dirname(path), "rmdir"), name: basename(path) },
    });
  }

  syncDir(path: string): void {
    this.step("syncDir", path);
    const dir = this.#dir(path, "fsync");
    const of = this.#pending.filter(({ add, remove }) => add?.dir === dir || remove?.dir === dir);
    for (const change of of) this.#settle(change);
  }

  async sync(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      const inode = this.#get(path, "open");
      if (inode.kind === "directory") {
        this.syncDir(path);
        continue;
      }
      this.step("fsync", path);
      inode.synced = inode.content;
    }
  }

  /** How many changes of names a crash now could lose, each by itself. */
  get unsynced(): number {
    return this.#pending.length;
  }

  /** The machine stops and starts again: of what was not synced, only what `kept` names is there. */
  crash(kept: (change: number) => boolean, tear: Tear): void {
    this.step = () => {};
    for (const change of this.#pending.filter((_, index) => kept(index))) {
      this.#settle(change);
    }
    this.#pending = [];
    const revive = (inode: Inode): void => {
      if (inode.kind === "file" && inode.synced !== inode.content) {
        inode.content = inode.synced ?? torn(inode.content, tear);
      }
      inode.entries = new Map(inode.durable);
      for (const inner of inode.entries.values()) revive(inner);
    };
    revive(this.#root);
  }

  // What people and other programs do. All of it is durable at once.

  #durably(work: () => void): void {
    const { step } = this;
    this.step = () => {};
    work();
    for (const change of this.#pending.slice()) this.#settle(change);
    this.step = step;
  }

  makeDirs(path: string): void {
    this.#durably(() => {
      let at = "";
      for (const part of path.split("/").filter((name) => name !== "")) {
        at += `/${part}`;
        if (this.#find(at) === undefined) this.mkdir(at, 0o755);
      }
    });
  }

  /** Writes into a file as it is, or makes one. */
  put(path: string, content: string | Buffer): void {
    this.#durably(() => {
      if (this.#find(path) === undefined) this.createSynced(path, content, 0o644);
      const inode = this.#get(path, "open");
      inode.content = Buffer.from(content);
      inode.synced = inode.content;
      inode.mtime_ns = this.now_ns();
      inode.ctime_ns = this.now_ns();
    });
  }

  /** A FIFO, link, socket or device. */
  putSpecial(path: string, kind: FileKindOnDisk): void {
    this.#durably(() => {
      const inode = this.#inode(kind, 0o644);
      const dir = this.#dir(dirname(path), "mknod");
      this.#change({ add: { dir, name: basename(path), inode }, remove: null });
    });
  }

  /** `utimes`: the change itself is seen in ctime. */
  touch(path: string, mtime_ns: bigint): void {
    const inode = this.#get(path, "utimes");
    inode.mtime_ns = mtime_ns;
    inode.ctime_ns = this.now_ns();
  }

  chmod(path: string, mode: number, uid?: number): void {
    const inode = this.#get(path, "chmod");
    inode.mode = mode;
    inode.uid = uid ?? inode.uid;
    inode.ctime_ns = this.now_ns();
  }

  remove(path: string): void {
    this.#durably(() => this.unlink(path));
  }

  move(from: string, to: string): void {
    this.#durably(() => this.rename(from, to));
  }

  hardLink(from: string, to: string): void {
    this.#durably(() => this.link(from, to));
  }

  text(path: string): string {
    return this.#get(path, "open").content.toString("utf8");
  }

  /** Number of what `path` names. */
  inode(path: string): bigint {
    return this.#get(path, "open").ino;
  }

  exists(path: string): boolean {
    return this.#find(path) !== undefined;
  }

  /** Paths of everything below `path` that is no directory. */
  tree(path: string): string[] {
    const below = (inode: Inode, at: string): string[] =>
      [...inode.entries].flatMap(([name, inner]) =>
        inner.kind === "directory" ? below(inner, `${at}/${name}`) : [`${at}/${name}`],
      );
    return below(this.#get(path, "open"), path).sort();
  }
}
