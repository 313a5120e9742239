import { statSync } from "node:fs";
import type { Env } from "../station/index.ts";
import type { CommitMode } from "./commit-outbox.ts";
import { gitClient } from "./git-client.ts";
import { currentBranch, inTheWay } from "./git-obstacles.ts";
import { findRepository, type Repository } from "./git-repository.ts";

/** Whether evidence could be committed now, for a person who asks why it was not. */
export interface GitReport {
  /** Top of the work tree that holds the station; null where there is none that can be used. */
  work_tree: string | null;
  /** What evidence would go to, `main`; null where it would wait. */
  branch: string | null;
  /** Why it would wait; null where nothing stands in the way. */
  obstacle: string | null;
  /** A lock on the index that was left behind so long ago, seconds; null where there is none. */
  index_lock_age_s: number | null;
}

function lockAge({ index_path }: Repository, now_ms: number): number | null {
  const since_ms = statSync(`${index_path}.lock`, { throwIfNoEntry: false })?.mtimeMs;
  return since_ms === undefined ? null : (now_ms - since_ms) / 1000;
}

/** Looks at the repository of the station at `root` and changes nothing. Never throws. */
export async function inspectGit(options: {
  root: string;
  mode: CommitMode;
  env: Env;
  now_ms: number;
}): Promise<GitReport> {
  const { root, mode, env, now_ms } = options;
  const git = gitClient(root, env);
  const { repository, reason } = await findRepository(git, root);
  if (repository === null) {
    return { work_tree: null, branch: null, obstacle: reason, index_lock_age_s: null };
  }
  const { work_tree } = repository;
  const index_lock_age_s = lockAge(repository, now_ms);
  if (mode !== "branch") return { work_tree, branch: null, obstacle: null, index_lock_age_s };
  const head = await currentBranch(git, repository);
  const branch = head.ref === null ? null : head.ref.replace("refs/heads/", "");
  const obstacle = head.reason ?? (await inTheWay(git, repository, now_ms));
  if (head.ref === null || obstacle !== null) {
    return { work_tree, branch, obstacle, index_lock_age_s };
  }
  try {
    await git.text(["rev-parse", "--verify", "--quiet", head.ref]);
    return { work_tree, branch, obstacle: null, index_lock_age_s };
  } catch {
    const first = `${branch ?? ""} has no commit yet; the first one is yours to make`;
    return { work_tree, branch, obstacle: first, index_lock_age_s };
  }
}
