import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GitFailure, gitReason, type GitClient } from "./git-client.ts";
import type { Repository } from "./git-repository.ts";
import {
  directoriesOf,
  graft,
  mktreeInput,
  parseObjects,
  parseTree,
  splitPath,
  type NewFile,
  type TreeEntry,
} from "./git-tree.ts";

/** Whose commits these are: the program's, never a person's or a host's. */
const NAME = "touchstoned";
const EMAIL = "evidence@touchstoned.invalid";

/** A file to commit: path from the station's root, and its text. */
export interface CommitFile {
  path: string;
  text: string;
}

export interface CommitRequest {
  files: readonly CommitFile[];
  message: string;
  /** When it was measured, and now: milliseconds since the epoch. */
  authored_ms: number;
  now_ms: number;
}

/** A commit that is made but that no branch holds yet. */
export interface Prepared {
  /** What the branch has to be at; null where it must not be there. */
  old: string | null;
  commit: string;
  files: readonly NewFile[];
}

export type Preparation =
  | { kind: "prepared"; prepared: Prepared }
  | { kind: "there"; old: string; files: readonly NewFile[] }
  /** The branch moved while it was read. */
  | { kind: "moved" }
  | { kind: "waits"; reason: string };

/**
 * Writes the files as objects. They are handed over by name, in one call, from a directory of our
 * own: no filter of the repository touches them, so that what is committed is what was signed.
 */
export async function writeBlobs(
  git: GitClient,
  repository: Repository,
  files: readonly CommitFile[],
  stage_dir: string,
): Promise<NewFile[]> {
  const stage = mkdtempSync(join(stage_dir, ".stage-"));
  try {
    chmodSync(stage, 0o700);
    const paths = files.map(({ text }, index) => {
      const path = join(stage, String(index));
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    });
    const answer = await git.text(["hash-object", "-w", "--no-filters", "--stdin-paths"], {
      input: paths.map((path) => `${path}\n`).join(""),
    });
    const oids = answer.trim().split("\n");
    if (oids.length !== files.length) throw new Error("hash-object gave another number of names");
    return files.map(({ path }, index) => ({
      path: `${repository.prefix}${path}`,
      oid: oids[index] ?? "",
    }));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** What the parent says that the tree of `directory` is; undefined where it has none. */
function subtree(known: ReadonlyMap<string, TreeEntry[]>, directory: string): string | undefined {
  const [parent, name] = splitPath(directory);
  const entry = known.get(parent)?.find((other) => other.name === name);
  return entry?.mode === "40000" ? entry.oid : undefined;
}

interface Branch {
  commit: string;
  known: Map<string, TreeEntry[]>;
}

/** The branch with all directories on the way to `paths`; null where it is not there. */
async function readBranch(
  git: GitClient,
  repository: Repository,
  ref: string,
  paths: readonly string[],
): Promise<Branch | null | "moved"> {
  const directories = directoriesOf(paths);
  const answer = await git.objects([
    `${ref}^{commit}`,
    `${ref}^{tree}`,
    ...directories.slice(1).map((directory) => `${ref}:${directory}`),
  ]);
  const [commit, ...trees] = parseObjects(answer);
  if (commit === undefined) return null;
  const known = new Map<string, TreeEntry[]>();
  const expected = /^tree ([0-9a-f]+)$/m.exec(commit.body.toString("latin1"))?.[1];
  for (const [index, directory] of directories.entries()) {
    const tree = trees[index];
    const there = directory === "" ? expected : subtree(known, directory);
    // All of it has to be of one moment, and a directory that is there must not be taken for empty.
    if ((tree?.type === "tree" ? tree.oid : undefined) !== there) return "moved";
    if (tree?.type === "tree") known.set(directory, parseTree(tree.body, repository.format));
  }
  return { commit: commit.oid, known };
}

function seconds(epoch_ms: number): string {
  return `@${Math.floor(epoch_ms / 1000)} +0000`;
}

function identity(request: CommitRequest) {
  return {
    GIT_AUTHOR_NAME: NAME,
    GIT_AUTHOR_EMAIL: EMAIL,
    GIT_AUTHOR_DATE: seconds(request.authored_ms),
    GIT_COMMITTER_NAME: NAME,
    GIT_COMMITTER_EMAIL: EMAIL,
    GIT_COMMITTER_DATE: seconds(request.now_ms),
  };
}

/** Makes the commit that adds the files to what `ref` is now. Moves nothing. */
export async function prepareCommit(
  git: GitClient,
  repository: Repository,
  ref: string,
  blobs: readonly NewFile[],
  request: CommitRequest,
): Promise<Preparation> {
  const branch = await readBranch(
    git,
    repository,
    ref,
    blobs.map(({ path }) => path),
  );
  if (branch === "moved") return { kind: "moved" };
  const grafted = graft(branch?.known ?? new Map(), blobs, repository.format);
  if (grafted.kind === "blocked") {
    return {
      kind: "waits",
      reason: `in ${ref}, ${grafted.path} is ${grafted.what} that is not ours`,
    };
  }
  if (grafted.kind === "there") {
    return branch === null
      ? { kind: "moved" }
      : { kind: "there", old: branch.commit, files: blobs };
  }
  const made = await git.text(["mktree", "-z", "--missing", "--batch"], {
    input: mktreeInput(grafted.trees),
  });
  const oids = made.trim().split("\n");
  if (grafted.trees.some(({ oid }, index) => oids[index] !== oid)) {
    throw new Error("git made other trees than those that it was given");
  }
  const parents = branch === null ? [] : ["-p", branch.commit];
  const commit = await git.text(["commit-tree", grafted.root, ...parents, "-F", "-"], {
    input: request.message,
    variables: identity(request),
  });
  return {
    kind: "prepared",
    prepared: { old: branch?.commit ?? null, commit: commit.trim(), files: blobs },
  };
}

export type Moved = { kind: "done" } | { kind: "moved" } | { kind: "waits"; reason: string };

/** Words of git for "it is not what you said it was", and for "another one is at it". */
const LOST_RACE = /but expected|reference already exists|unable to resolve reference/;
const LOCKED = /Unable to create '(.+\.lock)': File exists|unable to lock/i;

/** Moves `ref` from what it was to the commit, and nowhere if it is not there any more. */
export async function moveRef(
  git: GitClient,
  repository: Repository,
  ref: string,
  { old, commit }: Prepared,
  request: CommitRequest,
): Promise<Moved> {
  const change = old === null ? `create ${ref} ${commit}` : `update ${ref} ${commit} ${old}`;
  try {
    await git.text(["update-ref", "-m", "touchstoned: evidence", "--stdin"], {
      input: `start\n${change}\nprepare\ncommit\n`,
      hooks: repository.hooks_may_veto,
      variables: identity(request),
    });
    return { kind: "done" };
  } catch (error) {
    const said = gitReason(error);
    if (LOST_RACE.test(said)) return { kind: "moved" };
    if (LOCKED.test(said)) {
      return { kind: "waits", reason: `another program holds the lock of ${ref}: ${said}` };
    }
    if (error instanceof GitFailure && /hook/.test(said)) {
      return { kind: "waits", reason: `a hook (reference-transaction) refused it: ${said}` };
    }
    return { kind: "waits", reason: `git: ${said}` };
  }
}
