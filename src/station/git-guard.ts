import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { configError, type TouchstonedError } from "../core/errors.ts";
import { runCommand } from "../core/process.ts";
import { toolEnv, type Env } from "./paths.ts";

/** What of inbox/ a repository may bring. */
const MAY_BE_TRACKED = /^inbox\/(?:README\.md$|examples\/)/;
const NAMED_IN_ERROR = 5;

/**
 * Settings of the repository that would run a program, reach out, or let it lie about its place.
 * The command line goes before every configuration file.
 */
function gitArguments(root: string, work_tree: string): string[] {
  const settings = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.pager=cat",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    // The owner was looked at by us; root's own station is fine for its users.
    `safe.directory=${work_tree}`,
  ];
  // Else `core.worktree` or `core.bare` of the repository could make its paths mean other files.
  const place = [`--work-tree=${work_tree}`, "-C", root];
  return [...settings.flatMap((setting) => ["-c", setting]), "--no-pager", ...place];
}

function gitEnv(env: Env, work_tree: string): Record<string, string> {
  return {
    ...toolEnv(env, work_tree),
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_CEILING_DIRECTORIES: dirname(work_tree),
  };
}

function workTrees(root: string): string[] {
  const found: string[] = [];
  for (let at = root; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) found.push(at);
    if (dirname(at) === at) return found;
  }
}

function cannotTell(root: string, why: string): TouchstonedError {
  return configError(
    `${root}: cannot tell whether git tracks queue files in inbox/: ${why}`,
    "A pulled repository must not bring work of its own, so this has to be known. Mend the repository, or install git.",
    "git_unreadable",
  );
}

/**
 * The files of the station's inbox that git tracks and may not: queue files that came with a pull
 * would run unattended. Spelled in any case, since some file systems do not tell them apart.
 */
async function trackedInbox(root: string, env: Env): Promise<string[]> {
  for (const work_tree of workTrees(root)) {
    const result = await runCommand(
      "git",
      [...gitArguments(root, work_tree), "ls-files", "-z", "--cached", "--", ":(icase)inbox"],
      { timeout_s: 30, cwd: "/", env: gitEnv(env, work_tree), inherit_env: false },
    );
    if (result.ok) {
      return result.stdout.split("\0").filter((path) => path !== "" && !MAY_BE_TRACKED.test(path));
    }
    // A `.git` that is none: git then means the next repository above, and so do we.
    if (result.stderr.includes("not a git repository")) continue;
    const said = result.stderr.trim().split("\n", 1)[0] ?? "";
    throw cannotTell(root, said === "" ? (result.error ?? "git failed") : said);
  }
  return [];
}

/** Throws a configuration error (78) where git tracks anything in inbox/ but what is ours. */
export async function refuseTrackedInbox(root: string, env: Env): Promise<void> {
  const tracked = await trackedInbox(root, env);
  if (tracked.length === 0) return;
  const more =
    tracked.length > NAMED_IN_ERROR ? ` and ${tracked.length - NAMED_IN_ERROR} more` : "";
  const named = tracked.slice(0, NAMED_IN_ERROR).map((path) => JSON.stringify(path));
  throw configError(
    `${root}: git tracks ${named.join(", ")}${more}: a repository must not bring queue files`,
    "Run `git rm --cached` on them and commit; only inbox/README.md and inbox/examples/ may be tracked.",
    "inbox_tracked",
  );
}

/**
 * Makes `root` a git repository where neither it nor a directory above it is one. False where there is
 * one already; throws a configuration error where git cannot make it.
 */
export async function ensureRepository(root: string, env: Env): Promise<boolean> {
  if (workTrees(root).length > 0) return false;
  const made = await runCommand("git", ["init", "--quiet", "--initial-branch=main", root], {
    timeout_s: 30,
    cwd: "/",
    env: gitEnv(env, root),
    inherit_env: false,
  });
  if (made.ok) return true;
  const said = made.stderr.trim().split("\n", 1)[0] ?? "";
  throw configError(
    `${root}: git init failed: ${said === "" ? (made.error ?? "") : said}`,
    "A station is a git repository. Install git, or make the repository yourself, then init again.",
    "git_init_failed",
  );
}
