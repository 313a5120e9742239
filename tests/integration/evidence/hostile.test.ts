import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { outboxState } from "../../../src/evidence/index.ts";
import { GitRepo } from "../../helpers/git-repo.ts";
import { EvidenceSetting } from "./setting.ts";

interface Hostile {
  name: string;
  /** Brings the repository into its state; gives what takes it out again. */
  make: (repo: GitRepo, setting: EvidenceSetting) => () => void;
  /** What is said where it has to wait; null: it is committed in spite of the state. */
  branch: RegExp | null;
  ref: RegExp | null;
}

const failing = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "post-index-change",
];

function old(path: string, text = ""): void {
  writeFileSync(path, text);
  const long_ago = Date.now() / 1000 - 3600;
  utimesSync(path, long_ago, long_ago);
}

const STATES: Hostile[] = [
  {
    name: "a dirty work tree with staged files",
    make: (repo) => {
      repo.put("notes.txt", "changed and staged\n");
      repo.put("new.txt", "staged\n");
      repo.git("add", "-A");
      repo.put("notes.txt", "changed again, not staged\n");
      repo.put("code/main.c", "int main = 1;\n");
      repo.put("untracked.txt", "mine\n");
      return () => undefined;
    },
    branch: null,
    ref: null,
  },
  {
    name: "a stale index.lock",
    make: (repo) => {
      const lock = join(repo.root, ".git", "index.lock");
      old(lock);
      return () => rmSync(lock);
    },
    branch: /works on the index, or left .*index\.lock behind/,
    ref: null,
  },
  {
    name: "a signer that fails",
    make: (repo) => {
      repo.git("config", "commit.gpgsign", "true");
      repo.git("config", "gpg.program", "/bin/false");
      return () => undefined;
    },
    branch: null,
    ref: null,
  },
  {
    name: "hooks that fail",
    make: (repo) => {
      for (const name of failing) repo.hook(name, `touch ${repo.home}/RAN-${name}; exit 1`);
      return () => undefined;
    },
    branch: null,
    ref: null,
  },
  {
    name: "no identity",
    make: (repo) => {
      writeFileSync(join(repo.home, ".gitconfig"), "[user]\n\tuseConfigOnly = true\n");
      return () => undefined;
    },
    branch: null,
    ref: null,
  },
  {
    name: "a detached HEAD",
    make: (repo) => {
      repo.git("checkout", "-q", "--detach");
      return () => repo.git("checkout", "-q", "main");
    },
    branch: /HEAD is detached/,
    ref: null,
  },
  {
    name: "a rebase in conflict",
    make: (repo) => {
      repo.git("checkout", "-q", "-b", "other");
      repo.put("notes.txt", "theirs\n");
      repo.commit("theirs");
      repo.git("checkout", "-q", "main");
      repo.put("notes.txt", "ours\n");
      repo.commit("ours");
      expect(repo.tryGit("rebase", "other").status).not.toBe(0);
      return () => repo.git("rebase", "--abort");
    },
    branch: /a rebase is in progress/,
    ref: null,
  },
  {
    name: "a held lock of the branch",
    make: (repo, { ref }) => {
      const locks = ["refs/heads/main", ref].map((name) => join(repo.root, ".git", `${name}.lock`));
      for (const lock of locks) {
        mkdirSync(join(lock, ".."), { recursive: true });
        old(lock);
      }
      return () => locks.forEach((lock) => rmSync(lock));
    },
    branch: /holds the lock of refs\/heads\/main/,
    ref: /holds the lock of refs\/heads\/touchstoned/,
  },
  {
    name: "a reference-transaction hook that vetoes",
    make: (repo) => {
      repo.hook("reference-transaction", 'echo "not now" >&2; exit 1');
      return () => rmSync(join(repo.root, ".git/hooks/reference-transaction"));
    },
    branch: /a hook \(reference-transaction\) refused it/,
    ref: /a hook \(reference-transaction\) refused it/,
  },
];

/** What is the person's and has to stay as it is, whatever we do. */
function theirs(repo: GitRepo): Record<string, unknown> {
  return {
    status: repo.status(),
    staged: repo.git("diff", "--cached", "--", ".", ":!evidence"),
    head: repo.tryGit("symbolic-ref", "HEAD").stdout,
    notes: repo.text("notes.txt"),
    code: repo.text("code/main.c"),
    stash: repo.git("stash", "list"),
    config: repo.text(".git/config"),
  };
}

describe.each(STATES)("$name", ({ make, branch, ref }) => {
  it.each([
    ["branch", branch],
    ["ref", ref],
  ] as const)("in mode %s: the person's things stay theirs, nothing is lost", async (mode, why) => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    const release = make(repo, setting);
    const before = theirs(repo);
    const main = repo.git("rev-parse", "main").trim();

    const report = await setting.commit(mode);
    expect(theirs(repo)).toEqual(before);
    expect(failing.filter((name) => existsSync(join(repo.home, `RAN-${name}`)))).toEqual([]);

    const waiting = why === null ? 0 : 1;
    expect(report).toMatchObject({ waiting });
    expect(report.reason ?? "").toMatch(why ?? /^$/);
    expect(outboxState(setting.state_dir)).toMatchObject({ waiting, reason: report.reason });
    const moved = mode === "branch" && why === null;
    expect(repo.git("rev-parse", moved ? "main~1" : "main").trim()).toBe(main);
    expect(existsSync(join(repo.root, "evidence"))).toBe(moved);

    release();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
    expect(outboxState(setting.state_dir)).toMatchObject({ waiting: 0, reason: null });
    const revision = mode === "ref" ? setting.ref : "main";
    const files = repo.git("ls-tree", "-r", "--name-only", revision, "evidence").trim().split("\n");
    expect(files.toSorted()).toEqual(
      [
        `evidence/devices/${setting.device}.pub`,
        `${path}.json`,
        `${path}.md`,
        `${path}.svg`,
      ].sort(),
    );
    expect(repo.tryGit("fsck", "--strict", "--no-dangling")).toMatchObject({
      status: 0,
      stderr: "",
    });
    expect(repo.git("rev-parse", mode === "ref" ? "main" : "main~1").trim()).toBe(main);
    expect(repo.git("status", "--porcelain", "--", "evidence")).toBe("");
  });
});
