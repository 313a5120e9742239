import { closeSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import { openLocked, type Env } from "../station/index.ts";
import { EvidenceBook } from "./book.ts";
import { commitMessage } from "./commit-message.ts";
import { ownPublicKey } from "./device-key.ts";
import { gitClient, gitReason, type GitClient } from "./git-client.ts";
import { moveRef, prepareCommit, writeBlobs, type CommitRequest } from "./git-commit.ts";
import { lockIndex, recoverIndexLock, type IndexLock } from "./git-index.ts";
import { currentBranch, inTheWay } from "./git-obstacles.ts";
import { findRepository, type Repository } from "./git-repository.ts";
import type { NewFile } from "./git-tree.ts";
import {
  filesOf,
  noteAttempt,
  outboxDir,
  outboxEntries,
  takeFromOutbox,
  type OutboxEntry,
} from "./outbox.ts";
import { outboxNames } from "./outbox-state.ts";
import { placeFiles } from "./work-files.ts";

/** Where evidence is committed: the current branch, a branch of its own, or nowhere. */
export type CommitMode = "branch" | "ref" | "off";

export interface CommitOptions {
  /** The station, links resolved. */
  root: string;
  state_dir: string;
  mode: CommitMode;
  env: Env;
  clock: Clock;
  /** 0 (included) to 1 (not included), for waits. */
  random?: () => number;
}

export interface CommitReport {
  committed: { path: string; commit: string; ref: string }[];
  /** How many wait, and what stands in the way of the first. */
  waiting: number;
  reason: string | null;
}

/**
 * What a try came to. `again`: somebody else was faster or is at it; worth another try. `gone`:
 * another process of ours has committed it.
 */
type Try =
  | { kind: "gone" }
  | { kind: "committed"; commit: string; ref: string }
  | { kind: "again"; reason: string }
  | { kind: "waits"; reason: string };

interface Work extends CommitOptions {
  git: GitClient;
  repository: Repository;
  stage_dir: string;
}

const TRIES = 40;
const PAUSE_MS = { first: 15, most: 250 };
/** A lock that is older than this is not about to go away. */
const OLD_LOCK_MS = 5000;

/** Name of the branch that is the evidence's own. */
function evidenceRef(device: string): string {
  return `refs/heads/touchstoned/evidence/${device}`;
}

function requestOf(entry: OutboxEntry, now_ms: number): CommitRequest {
  return {
    files: filesOf(entry),
    message: commitMessage(entry),
    authored_ms: Date.parse(entry.evidence.created),
    now_ms,
  };
}

const MOVED: Extract<Try, { kind: "again" }> = {
  kind: "again",
  reason: "the branch moves faster than it can be committed to",
};

async function tryRef(work: Work, entry: OutboxEntry, blobs: readonly NewFile[]): Promise<Try> {
  const { git, repository, clock } = work;
  const ref = evidenceRef(entry.path.split("/")[1] ?? "");
  const request = requestOf(entry, clock.now_ms());
  const head = await currentBranch(git, repository);
  if (head.ref === ref) {
    return { kind: "waits", reason: `${ref} is checked out here; its files would go out of step` };
  }
  const made = await prepareCommit(git, repository, ref, blobs, request);
  if (made.kind === "moved") return MOVED;
  if (made.kind === "waits") return made;
  if (made.kind === "there") return { kind: "committed", commit: made.old, ref };
  const moved = await moveRef(git, repository, ref, made.prepared, request);
  if (moved.kind === "moved") return MOVED;
  if (moved.kind === "waits") return moved;
  return { kind: "committed", commit: made.prepared.commit, ref };
}

function lockedReason({ repository, clock }: Work): Try {
  const path = `${repository.index_path}.lock`;
  const reason = `another program works on the index, or left ${path} behind`;
  const since_ms = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  const old = since_ms !== undefined && clock.now_ms() - since_ms > OLD_LOCK_MS;
  return { kind: old ? "waits" : "again", reason };
}

async function tryBranch(work: Work, entry: OutboxEntry, blobs: readonly NewFile[]): Promise<Try> {
  const { git, repository, clock, stage_dir } = work;
  const obstacle = await inTheWay(git, repository, clock.now_ms());
  if (obstacle !== null) return { kind: "waits", reason: obstacle };
  const head = await currentBranch(git, repository);
  if (head.ref === null) return { kind: "waits", reason: head.reason };
  const request = requestOf(entry, clock.now_ms());
  const made = await prepareCommit(git, repository, head.ref, blobs, request);
  if (made.kind === "moved") return MOVED;
  if (made.kind === "waits") return made;
  if (made.kind === "prepared" && made.prepared.old === null) {
    return {
      kind: "waits",
      reason: `${head.ref} has no commit yet; the first one is yours to make`,
    };
  }
  const commit = made.kind === "there" ? made.old : made.prepared.commit;
  const lock = lockIndex(repository.index_path, stage_dir, { ref: head.ref, commit });
  if (lock === undefined) return lockedReason(work);
  let done = false;
  try {
    const outcome = await underLock(work, lock, head.ref, made, request);
    done = outcome.kind === "committed";
    return outcome;
  } finally {
    if (!done) lock.release();
  }
}

type Made = Extract<Awaited<ReturnType<typeof prepareCommit>>, { kind: "prepared" | "there" }>;

/** Files, branch and index move together: each is taken back where a later one cannot. */
async function underLock(
  work: Work,
  lock: IndexLock,
  ref: string,
  made: Made,
  request: CommitRequest,
): Promise<Try> {
  const { git, repository, root, clock } = work;
  // The person may have gone elsewhere until the lock was ours; from now on they cannot.
  const obstacle = await inTheWay(git, repository, clock.now_ms());
  if (obstacle !== null) return { kind: "waits", reason: obstacle };
  if ((await currentBranch(git, repository)).ref !== ref) return MOVED;
  const files = made.kind === "there" ? made.files : made.prepared.files;
  await lock.add(git, files);
  const placed = placeFiles(root, request.files);
  if (placed.undo === null) return { kind: "waits", reason: placed.reason };
  if (made.kind === "there") {
    lock.commit();
    return { kind: "committed", commit: made.old, ref };
  }
  const { commit } = made.prepared;
  const moved = await moveRef(git, repository, ref, made.prepared, request);
  if (moved.kind !== "done") {
    placed.undo();
    return moved.kind === "moved" ? MOVED : moved;
  }
  lock.commit();
  return { kind: "committed", commit, ref };
}

/** Tries until it is committed, or until it has to wait; others may write at the same time. */
async function commitEntry(work: Work, entry: OutboxEntry): Promise<Try> {
  const { git, repository, stage_dir, clock, mode, random = Math.random } = work;
  const attempt = mode === "ref" ? tryRef : tryBranch;
  let last = MOVED;
  try {
    const blobs = await writeBlobs(git, repository, filesOf(entry), stage_dir);
    for (let tried = 0; tried < TRIES; tried += 1) {
      if (!existsSync(join(stage_dir, entry.name))) return { kind: "gone" };
      const outcome = await attempt(work, entry, blobs);
      if (outcome.kind !== "again") return outcome;
      last = outcome;
      const longest_ms = Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** tried);
      await clock.sleep(random() * longest_ms);
    }
  } catch (error) {
    return { kind: "waits", reason: `git: ${gitReason(error)}` };
  }
  return { kind: "waits", reason: last.reason };
}

async function openWork(options: CommitOptions): Promise<Work | string> {
  const git = gitClient(options.root, options.env);
  const { repository, reason } = await findRepository(git, options.root);
  if (repository === null) return reason;
  const stage_dir = outboxDir(options.state_dir);
  await recoverIndexLock(git, stage_dir);
  return { ...options, git, repository, stage_dir };
}

/** How often, and how long at most, it is looked whether another process has ended. */
const TURN = { look_ms: 40, limit_ms: 60_000 };

/**
 * One process of a station commits at a time: the others would only make it start again. Right even
 * without that (no flock program here), since a branch moves only from what it was.
 */
async function takeTurn({
  state_dir,
  clock,
  random = Math.random,
}: CommitOptions): Promise<() => void> {
  const until_ms = clock.monotonic_ms() + TURN.limit_ms;
  while (clock.monotonic_ms() < until_ms) {
    let fd: number | undefined;
    try {
      fd = await openLocked(join(outboxDir(state_dir), "committer.lock"), "exclusive");
    } catch {
      return () => undefined;
    }
    if (fd !== undefined) return closeSync.bind(null, fd);
    await clock.sleep(TURN.look_ms * (0.5 + random()));
  }
  return () => undefined;
}

async function commitAll(options: CommitOptions, report: CommitReport): Promise<void> {
  const { entries, unreadable } = outboxEntries(options.state_dir);
  report.waiting = entries.length + unreadable.length;
  if (unreadable.length > 0) report.reason = `outbox: ${unreadable[0] ?? ""} cannot be read`;
  if (entries.length === 0) return;
  const own = ownPublicKey(options.state_dir);
  if (own !== undefined) {
    const book = new EvidenceBook(options.state_dir, own);
    for (const { evidence } of entries) book.adopt(evidence);
  }
  if (options.mode === "off") {
    report.reason = "evidence.commit is off in touchstoned.yaml";
    return;
  }
  const work = await openWork(options);
  if (typeof work === "string") {
    report.reason = work;
    return;
  }
  for (const entry of entries) {
    const outcome = await commitEntry(work, entry);
    if (outcome.kind === "gone") {
      report.waiting -= 1;
      continue;
    }
    if (outcome.kind !== "committed") {
      // What stands in the way of one stands in the way of all; they keep their order.
      report.reason = outcome.reason;
      return;
    }
    takeFromOutbox(options.state_dir, entry.name);
    report.waiting -= 1;
    report.committed.push({
      path: `${entry.path}.json`,
      commit: outcome.commit,
      ref: outcome.ref,
    });
  }
}

/**
 * Commits what waits in the outbox, oldest first, one commit each. Never throws for what git or the
 * repository is like: what cannot be committed now stays, and the reason is written down for
 * `status`. May be called by several processes at once, and again at any time.
 */
export async function commitOutbox(options: CommitOptions): Promise<CommitReport> {
  ensureDir(outboxDir(options.state_dir), 0o700);
  const report: CommitReport = { committed: [], waiting: 0, reason: null };
  if (outboxNames(options.state_dir).length === 0) return report;
  const endTurn = await takeTurn(options);
  try {
    await commitAll(options, report);
  } catch (error) {
    report.reason = errorMessage(error);
  } finally {
    endTurn();
  }
  if (report.waiting > 0 || report.committed.length > 0) {
    noteAttempt(options.state_dir, report.reason, options.clock.now_ms());
  }
  return report;
}
