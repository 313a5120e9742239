import { realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isInside } from "../station/index.ts";
import { GitFailure, gitReason, type GitClient } from "./git-client.ts";
import type { ObjectFormat } from "./git-tree.ts";

/** The repository that holds a station. All paths are absolute. */
export interface Repository {
  /** Top of the work tree, links resolved. */
  work_tree: string;
  /** Of this work tree: HEAD, index, what is going on. */
  git_dir: string;
  index_path: string;
  /** Path of the station from the top, with a slash at its end; empty where it is the top. */
  prefix: string;
  format: ObjectFormat;
  /** Its refs are in a table and not in files. */
  reftable: boolean;
  /** True where its hooks are a person's own and may veto: not where a pull could bring them. */
  hooks_may_veto: boolean;
}

export type Found =
  | { repository: Repository; reason: null }
  /** Why nothing can be committed here, and what to do. */
  | { repository: null; reason: string };

const QUESTIONS = [
  "rev-parse",
  "--is-bare-repository",
  "--show-object-format",
  "--git-dir",
  "--git-common-dir",
  "--git-path",
  "index",
  "--git-path",
  "hooks",
  "--show-toplevel",
  "--show-prefix",
];

function reasonOf(error: unknown, root: string): string {
  const said = gitReason(error);
  if (error instanceof GitFailure && error.stdout.startsWith("true\n")) {
    return `${root} is in a bare repository: there is no work tree`;
  }
  if (said.includes("ENOENT")) return "git is not installed, or not in PATH";
  if (said.includes("dubious ownership") || said.includes("unsafe repository")) {
    return `git refuses this repository, since another user owns it: run git config --global --add safe.directory ${root}, if that is right`;
  }
  if (said.includes("not a git repository")) {
    return `${root} is in no git repository (git init makes one)`;
  }
  if (said.includes("must be run in a work tree") || said.includes("cannot use bare repository")) {
    return `${root} is in a bare repository: there is no work tree`;
  }
  return `git: ${said}`;
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Hooks that lie in the work tree come with a pull and never run. The directory may be a link into
 * it, and so may the one hook that we would let speak.
 */
function mayVeto(hooks: string, work_tree: string, git_dirs: readonly string[]): boolean {
  const places = [realOr(hooks), realOr(join(hooks, "reference-transaction"))];
  return places.every(
    (place) => git_dirs.some((dir) => isInside(dir, place)) || !isInside(work_tree, place),
  );
}

/** Looks at the repository that holds the station at `root` (links resolved). Never throws. */
export async function findRepository(git: GitClient, root: string): Promise<Found> {
  let answer: string;
  try {
    // With hooks, since the path of hooks is asked for; nothing runs here.
    answer = await git.text(QUESTIONS, { hooks: true });
  } catch (error) {
    return { repository: null, reason: reasonOf(error, root) };
  }
  const lines = answer.split("\n");
  const [bare, format, git_dir, common_dir, index, hooks, top, prefix] = lines;
  if (bare === "true") {
    return { repository: null, reason: `${root} is in a bare repository: there is no work tree` };
  }
  // One line each and an empty one: a path with a line end in it would give more.
  if (lines.length !== 9 || (format !== "sha1" && format !== "sha256")) {
    return { repository: null, reason: "git: its answers about this repository cannot be read" };
  }
  const work_tree = realOr(top ?? "");
  if (realOr(join(work_tree, prefix ?? "")) !== root || !isInside(work_tree, root)) {
    return {
      repository: null,
      reason: `the repository says that its work tree is ${work_tree}, which does not hold ${root} (core.worktree)`,
    };
  }
  const dirs = [git_dir, common_dir].map((path) => realOr(resolve(root, path ?? "")));
  return {
    reason: null,
    repository: {
      work_tree,
      git_dir: dirs[0] ?? "",
      index_path: resolve(root, index ?? ""),
      prefix: prefix ?? "",
      format,
      reftable: statSync(join(dirs[1] ?? "", "reftable"), { throwIfNoEntry: false }) !== undefined,
      hooks_may_veto: mayVeto(resolve(root, hooks ?? ""), work_tree, dirs),
    },
  };
}
