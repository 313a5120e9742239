import {
  copyFileSync,
  existsSync,
  fchmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { systemErrorCode } from "../core/errors.ts";
import { readTextIfThere, syncDir } from "../core/files.ts";
import { isAlive, processIdentity, type ProcessIdentity } from "../core/process-table.ts";
import type { GitClient } from "./git-client.ts";
import type { NewFile } from "./git-tree.ts";

/**
 * git's own lock of the index, held while a branch moves: nobody can then commit or stage from an
 * index that lacks the new files. It is taken as git takes it, and only ever taken away by us where
 * it is proven to be ours.
 */
export interface IndexLock {
  /** Puts the new index in place; the lock is gone with it. */
  commit: () => void;
  /** Leaves the index as it was. */
  release: () => void;
  /** Writes what the index will be when `files` are added. */
  add: (git: GitClient, files: readonly NewFile[]) => Promise<void>;
}

interface LockMark {
  lock: string;
  /** Where it was made before it got its name. */
  temporary: string;
  dev: number;
  ino: number;
  owner: ProcessIdentity;
  ref: string;
  commit: string;
}

/** One a try: several writers share the directory. */
const MARK_NAME = /^index-lock-[0-9a-f]+\.json$/;

function replaceContent(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, at);
  fsyncSync(fd);
}

/**
 * The lock, or undefined where another one has it. `stage_dir`: ours, for files on the way. `goal`: the
 * branch that is about to move, and where to: the new index belongs to that commit.
 */
export function lockIndex(
  index_path: string,
  stage_dir: string,
  goal: { ref: string; commit: string },
): IndexLock | undefined {
  const lock = `${index_path}.lock`;
  const tag = randomBytes(6).toString("hex");
  const temporary = `${index_path}.touchstoned-${tag}`;
  const staged = join(stage_dir, `.index-${tag}`);
  const mark_path = join(stage_dir, `index-lock-${tag}.json`);
  const owner = processIdentity(process.pid);
  if (owner === undefined) return undefined;
  const fd = openSync(temporary, "wx+", 0o644);
  const stats = fstatSync(fd);
  const mark: LockMark = {
    lock,
    temporary,
    dev: stats.dev,
    ino: stats.ino,
    owner,
    ...goal,
  };
  const end = (): void => {
    closeSync(fd);
    rmSync(staged, { force: true });
    rmSync(mark_path, { force: true });
  };
  try {
    const mode = statSync(index_path, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined) fchmodSync(fd, mode & 0o777);
    // For a process that is killed; what a loss of power leaves of a lock is git's own trouble, too.
    writeFileSync(mark_path, JSON.stringify(mark), { mode: 0o600 });
    linkSync(temporary, lock);
  } catch (error) {
    unlinkSync(temporary);
    end();
    if (systemErrorCode(error) === "EEXIST") return undefined;
    throw error;
  }
  unlinkSync(temporary);
  return {
    async add(git, files) {
      if (existsSync(index_path)) copyFileSync(index_path, staged);
      await git.text(["update-index", "--verbose", "--index-info"], {
        input: files.map(({ path, oid }) => `100644 ${oid}\t${path}\n`).join(""),
        variables: { GIT_INDEX_FILE: staged },
      });
      replaceContent(fd, readFileSync(staged));
    },
    commit() {
      renameSync(lock, index_path);
      syncDir(dirname(index_path));
      end();
    },
    release() {
      unlinkSync(lock);
      end();
    },
  };
}

function readMark(path: string): LockMark | undefined {
  const text = readTextIfThere(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as LockMark;
  } catch {
    return undefined;
  }
}

/**
 * Ends what a killed process of ours left: its lock of the index, known by its number on the disk,
 * is put in place where its branch did move, and taken away where it did not.
 */
export async function recoverIndexLock(git: GitClient, stage_dir: string): Promise<void> {
  for (const name of readdirSync(stage_dir).filter((file) => MARK_NAME.test(file))) {
    const path = join(stage_dir, name);
    const mark = readMark(path);
    if (mark === undefined || isAlive(mark.owner)) continue;
    await recover(git, mark);
    rmSync(path, { force: true });
  }
}

async function recover(git: GitClient, mark: LockMark): Promise<void> {
  const ours = (path: string): boolean => {
    const there = statSync(path, { throwIfNoEntry: false });
    return there !== undefined && there.dev === mark.dev && there.ino === mark.ino;
  };
  if (ours(mark.temporary)) unlinkSync(mark.temporary);
  if (!ours(mark.lock)) return;
  const moved = (await tip(git, mark.ref)) === mark.commit;
  if (moved) renameSync(mark.lock, mark.lock.replace(/\.lock$/, ""));
  else unlinkSync(mark.lock);
}

async function tip(git: GitClient, ref: string): Promise<string | null> {
  const bytes = await git.objects([`${ref}^{commit}`]);
  return /^[0-9a-f]+(?= )/.exec(bytes.toString("latin1"))?.[0] ?? null;
}
