import { lstatSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { GitClient } from "./git-client.ts";
import type { Repository } from "./git-repository.ts";

/** What a person may be in the midst of, by the file that says so. */
const OPERATIONS: readonly [file: string, what: string][] = [
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase or `git am`"],
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  ["BISECT_LOG", "a bisect"],
  ["sequencer", "a cherry-pick or revert of several commits"],
];
/** These two are refs, which need not be files of their own. */
const PSEUDO_REFS = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];

/** A message that was left alone for so long is not being written. */
const MESSAGE_LIMIT_MS = 3_600_000;

function modified_ms(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/**
 * `git commit` holds no lock while its editor is open, and fails if the branch moves meanwhile. Its
 * message file is then younger than the last move of HEAD.
 */
function messageIsWritten({ git_dir }: Repository, now_ms: number): boolean {
  const message_ms = modified_ms(join(git_dir, "COMMIT_EDITMSG"));
  const moved_ms = modified_ms(join(git_dir, "logs", "HEAD"));
  if (message_ms === undefined || moved_ms === undefined) return false;
  return message_ms > moved_ms && now_ms - message_ms < MESSAGE_LIMIT_MS;
}

async function isRef(git: GitClient, name: string): Promise<boolean> {
  try {
    await git.text(["rev-parse", "--verify", "--quiet", name]);
    return true;
  } catch {
    return false;
  }
}

/** Why the person's branch must be left alone now; null where nothing of theirs is in the way. */
export async function inTheWay(
  git: GitClient,
  repository: Repository,
  now_ms: number,
): Promise<string | null> {
  for (const [file, what] of OPERATIONS) {
    if (modified_ms(join(repository.git_dir, file)) !== undefined) {
      return `${what} is in progress`;
    }
  }
  if (messageIsWritten(repository, now_ms)) return "a commit message is being written";
  if (!repository.reftable) return null;
  for (const name of PSEUDO_REFS) {
    if (await isRef(git, name)) return `an operation is in progress (${name})`;
  }
  return null;
}

export type Head = { ref: string; reason: null } | { ref: null; reason: string };

/** What HEAD stands for where that is a plain file, as it nearly always is: no git needs to be asked. */
function headFile({ git_dir, reftable }: Repository): string | undefined {
  const path = join(git_dir, "HEAD");
  if (reftable || lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return /^ref:\s*(refs\/\S+)\n$/.exec(readFileSync(path, "utf8"))?.[1];
}

/** The branch that HEAD stands for. */
export async function currentBranch(git: GitClient, repository: Repository): Promise<Head> {
  try {
    const ref = headFile(repository) ?? (await git.text(["symbolic-ref", "HEAD"])).trim();
    if (ref.startsWith("refs/heads/")) return { ref, reason: null };
    return { ref: null, reason: `HEAD stands for ${ref}, which is no branch` };
  } catch {
    return { ref: null, reason: "HEAD is detached: there is no current branch" };
  }
}
