import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GitRepo } from "../../helpers/git-repo.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { EvidenceSetting } from "./setting.ts";

const MODES = ["branch", "ref"] as const;

/** Where `git` of `repo` shows the document now. */
function committed(repo: GitRepo, revision: string, path: string): string {
  return repo.git("show", `${revision}:${path}.json`);
}

describe.each(MODES)("mode %s", (mode) => {
  const revision = (setting: EvidenceSetting): string => (mode === "ref" ? setting.ref : "main");

  it("waits where there is no repository, and commits when there is one", async () => {
    const repo = new GitRepo();
    rmSync(join(repo.root, ".git"), { recursive: true });
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    expect(await setting.commit(mode)).toMatchObject({
      committed: [],
      waiting: 1,
      reason: expect.stringMatching(/is in no git repository \(git init makes one\)/),
    });
    expect(readdirSync(repo.root)).toEqual([]);
    repo.git("init", "-q", "-b", "main");
    repo.start();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0 });
    expect(committed(repo, revision(setting), path)).toContain("touchstoned/slot-evidence/1");
  });

  it("waits in a bare repository", async () => {
    const repo = new GitRepo(["--bare"]);
    const setting = new EvidenceSetting(repo);
    setting.write();
    const report = await setting.commit(mode);
    expect(report).toMatchObject({ waiting: 1, reason: expect.stringMatching(/bare repository/) });
  });

  it("works in a linked work tree, on its own branch and index", async () => {
    const repo = new GitRepo().start();
    repo.git("branch", "side");
    repo.git("worktree", "add", "-q", join(repo.home, "side"), "side");
    const setting = new EvidenceSetting(repo, join(repo.home, "side"));
    const path = setting.write();
    const before = repo.status();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
    const where = mode === "ref" ? setting.ref : "side";
    expect(committed(repo, where, path)).toContain(setting.device);
    expect(repo.status()).toBe(before);
    expect(repo.git("-C", setting.root, "status", "--porcelain")).toBe("");
    expect(existsSync(join(setting.root, `${path}.md`))).toBe(mode === "branch");
  });

  it("works with SHA-256 names", async () => {
    const repo = new GitRepo(["--object-format=sha256"]).start();
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
    expect(repo.git("rev-parse", revision(setting)).trim()).toHaveLength(64);
    expect(committed(repo, revision(setting), path)).toContain(setting.device);
    expect(repo.tryGit("fsck", "--strict", "--no-dangling").status).toBe(0);
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("leaves the first commit of a branch to the person", async () => {
    const repo = new GitRepo();
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    const report = await setting.commit(mode);
    expect(report.reason ?? "").toMatch(mode === "branch" ? /no commit yet/ : /^$/);
    expect(repo.status()).toContain("# branch.head main");
    repo.start();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0 });
    expect(committed(repo, revision(setting), path)).toContain(setting.device);
  });

  it.each(onlyIf(process.getuid?.() !== 0))("waits where .git may not be written", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    const closed = [".git", ".git/objects", ".git/refs", ".git/refs/heads"].map((name) =>
      join(repo.root, name),
    );
    for (const directory of closed) chmodSync(directory, 0o555);
    const report = await setting.commit(mode);
    for (const directory of closed) chmodSync(directory, 0o755);
    expect(report).toMatchObject({ committed: [], waiting: 1 });
    expect(report.reason).toMatch(/permission|Permission/);
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0 });
  });

  it("waits where objects cannot be stored, and names it", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    // What even root may not do: a file stands where the directory of objects was.
    const objects = join(repo.root, ".git", "objects");
    renameSync(objects, `${objects}.away`);
    writeFileSync(objects, "");
    const report = await setting.commit(mode);
    expect(report).toMatchObject({
      committed: [],
      waiting: 1,
      reason: expect.stringMatching(/\S/),
    });
    expect(existsSync(join(repo.root, ".git", "index.lock"))).toBe(false);
    rmSync(objects);
    renameSync(`${objects}.away`, objects);
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0 });
  });

  it.each(onlyIf(process.getuid?.() === 0))("waits where git doubts the owner", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    chownSync(repo.root, 65_534, 65_534);
    chownSync(join(repo.root, ".git"), 65_534, 65_534);
    expect(await setting.commit(mode)).toMatchObject({
      waiting: 1,
      reason: expect.stringMatching(/another user owns it: run git config .* safe\.directory/),
    });
    repo.git("config", "--global", "--add", "safe.directory", repo.root);
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
  });

  it("works for a station that is a directory inside a repository", async () => {
    const repo = new GitRepo().start();
    const root = join(repo.root, "lab", "bench one");
    mkdirSync(root, { recursive: true });
    const setting = new EvidenceSetting(repo, root);
    const path = setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
    expect(committed(repo, revision(setting), `lab/bench one/${path}`)).toContain(setting.device);
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("does not follow a repository that says its work tree is elsewhere", async () => {
    const repo = new GitRepo().start();
    const elsewhere = join(repo.home, "elsewhere");
    mkdirSync(elsewhere);
    repo.git("config", "core.worktree", elsewhere);
    const setting = new EvidenceSetting(repo);
    setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 1 });
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it("never runs hooks that lie in the work tree, not even through a link", async () => {
    const repo = new GitRepo();
    const ran = join(repo.home, "RAN");
    for (const name of ["reference-transaction", "pre-commit", "post-index-change"]) {
      repo.hook(name, `touch ${ran}; exit 1`, ".husky");
    }
    repo.git("config", "core.hooksPath", ".husky");
    repo.put("notes.txt", "mine\n");
    repo.git("-c", "core.hooksPath=/dev/null", "add", "-A");
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "first");
    const setting = new EvidenceSetting(repo);
    setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });

    repo.git("config", "--unset", "core.hooksPath");
    rmSync(join(repo.root, ".git/hooks"), { recursive: true, force: true });
    symlinkSync("../.husky", join(repo.root, ".git/hooks"));
    setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });

    rmSync(join(repo.root, ".git/hooks"));
    mkdirSync(join(repo.root, ".git/hooks"));
    const inner = join(repo.root, ".git/hooks/reference-transaction");
    symlinkSync("../../.husky/reference-transaction", inner);
    setting.write();
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0, reason: null });
    expect(existsSync(ran)).toBe(false);
  });

  it("lets a hook outside of the work tree veto", async () => {
    const repo = new GitRepo().start();
    mkdirSync(join(repo.home, "hooks"));
    const hook = join(repo.home, "hooks", "reference-transaction");
    writeFileSync(hook, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    repo.git("config", "--global", "core.hooksPath", join(repo.home, "hooks"));
    const setting = new EvidenceSetting(repo);
    setting.write();
    const report = await setting.commit(mode);
    expect(report).toMatchObject({ waiting: 1, reason: expect.stringMatching(/hook/) });
    rmSync(hook);
    expect(await setting.commit(mode)).toMatchObject({ waiting: 0 });
  });

  it("is deaf to variables of git that were inherited", async () => {
    const [repo, other] = [new GitRepo().start(), new GitRepo().start()];
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    const before = other.git("for-each-ref");
    const report = await setting.commit(mode, {
      GIT_DIR: join(other.root, ".git"),
      GIT_WORK_TREE: other.root,
      GIT_INDEX_FILE: join(other.root, ".git", "index"),
      GIT_OBJECT_DIRECTORY: join(other.root, ".git", "objects"),
      GIT_AUTHOR_NAME: "somebody",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.hooksPath",
      GIT_CONFIG_VALUE_0: "/nonexistent",
    });
    expect(report).toMatchObject({ waiting: 0, reason: null });
    expect(committed(repo, revision(setting), path)).toContain(setting.device);
    expect(other.git("for-each-ref")).toBe(before);
    expect(repo.git("log", "-1", "--format=%an %cn", revision(setting)).trim()).toBe(
      "touchstoned touchstoned",
    );
  });

  it.each([
    ["a symbolic link", (repo: GitRepo) => symlinkSync("code", join(repo.root, "evidence"))],
    ["a file", (repo: GitRepo) => repo.put("evidence", "mine\n")],
  ])("waits where the person's evidence is %s", async (_what, make) => {
    const repo = new GitRepo().start();
    make(repo);
    repo.commit("theirs");
    const setting = new EvidenceSetting(repo);
    setting.write();
    const before = repo.status();
    const report = await setting.commit(mode);
    // A branch of its own has nothing of theirs in it.
    expect(report.reason ?? "").toMatch(
      mode === "branch" ? /evidence is .* that is not ours/ : /^$/,
    );
    expect(repo.status()).toBe(before);
  });

  it("keeps what the repository's filters would change", async () => {
    const repo = new GitRepo().start();
    repo.git("config", "core.autocrlf", "true");
    repo.put(".gitattributes", "* text=auto eol=crlf\n");
    repo.git("add", "-A");
    repo.git("commit", "-q", "-m", "attributes");
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    await setting.commit(mode);
    expect(committed(repo, revision(setting), path)).not.toContain("\r");
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("adds to evidence that is there, one commit each, and says what it is", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const paths = [setting.write(), setting.write()];
    const report = await setting.commit(mode);
    expect(report.committed.map(({ path }) => path)).toEqual(paths.map((path) => `${path}.json`));
    const last = report.committed[1];
    expect(repo.git("rev-parse", revision(setting)).trim()).toBe(last?.commit);
    const message = repo.git("log", "-1", "--format=%B", revision(setting));
    expect(message).toMatch(/^Slots on [0-9a-f]{16}: 2 \(as before\), gpt-oss:20b\n/);
    const trailers = repo.git("log", "-1", "--format=%(trailers:only)", revision(setting));
    expect(trailers.trim().split("\n")).toEqual([
      expect.stringMatching(/^Evidence-Key: [0-9a-f]{64}$/),
      `Evidence-Path: ${paths[1]}.json`,
    ]);
    const names = repo.git("show", "--name-only", "--format=", revision(setting)).trim();
    expect(names.split("\n").sort()).toEqual(
      [".json", ".md", ".svg"].map((ending) => `${paths[1]}${ending}`),
    );
  });

  it("finds that it is done already where it died before it could say so", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    const outbox = join(setting.state_dir, "outbox");
    cpSync(outbox, `${outbox}.kept`, { recursive: true });
    const [first] = (await setting.commit(mode)).committed;
    for (const name of readdirSync(`${outbox}.kept`)) {
      cpSync(join(`${outbox}.kept`, name), join(outbox, name));
    }
    const again = await setting.commit(mode);
    expect(again).toMatchObject({ waiting: 0, reason: null, committed: [first] });
    expect(repo.git("status", "--porcelain")).toBe("");
  });
});

describe("mode branch", () => {
  it.each([
    ["MERGE_HEAD", /a merge/],
    ["CHERRY_PICK_HEAD", /a cherry-pick/],
    ["REVERT_HEAD", /a revert/],
    ["BISECT_LOG", /a bisect/],
  ])("waits while %s is there", async (file, why) => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    writeFileSync(join(repo.root, ".git", file), repo.git("rev-parse", "HEAD"));
    expect((await setting.commit("branch")).reason).toMatch(why);
    rmSync(join(repo.root, ".git", file));
    expect(await setting.commit("branch")).toMatchObject({ waiting: 0 });
  });

  it("waits while a commit message is being written", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    writeFileSync(join(repo.root, ".git", "COMMIT_EDITMSG"), "half a mess");
    expect((await setting.commit("branch")).reason).toMatch(/commit message is being written/);
    repo.git("commit", "-q", "--allow-empty", "-m", "whole message");
    expect(await setting.commit("branch")).toMatchObject({ waiting: 0 });
  });

  it("overwrites no file of the person's", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    repo.put(`${path}.md`, "mine, not committed\n");
    const before = repo.status();
    const report = await setting.commit("branch");
    expect(report).toMatchObject({ waiting: 1, reason: `${path}.md: another file is there` });
    expect(repo.text(`${path}.md`)).toBe("mine, not committed\n");
    expect(repo.status()).toBe(before);
    rmSync(join(repo.root, `${path}.md`));
    expect(await setting.commit("branch")).toMatchObject({ waiting: 0 });
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("leaves the same files as it committed", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const path = setting.write();
    await setting.commit("branch");
    for (const ending of ["json", "md", "svg"]) {
      const text = readFileSync(join(repo.root, `${path}.${ending}`), "utf8");
      expect(text).toBe(repo.git("show", `main:${path}.${ending}`));
    }
  });
});

describe("mode ref", () => {
  it("waits while its branch is checked out", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    await setting.commit("ref");
    repo.git("checkout", "-q", setting.ref.replace("refs/heads/", ""));
    setting.write();
    expect((await setting.commit("ref")).reason).toMatch(/is checked out here/);
    expect(repo.git("status", "--porcelain")).toBe("");
    repo.git("checkout", "-q", "main");
    expect(await setting.commit("ref")).toMatchObject({ waiting: 0 });
  });

  it("waits where a branch has the name of its directory", async () => {
    const repo = new GitRepo().start();
    repo.git("branch", "touchstoned");
    const setting = new EvidenceSetting(repo);
    setting.write();
    expect(await setting.commit("ref")).toMatchObject({
      waiting: 1,
      reason: expect.stringMatching(/refs\/heads\/touchstoned/),
    });
  });
});

describe("mode off", () => {
  it("commits nothing and loses nothing", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    const before = repo.git("for-each-ref");
    expect(await setting.commit("off")).toMatchObject({
      waiting: 1,
      reason: expect.stringMatching(/evidence\.commit is off/),
    });
    expect(repo.git("for-each-ref")).toBe(before);
    expect(repo.status()).not.toContain("evidence");
    expect(await setting.commit("branch")).toMatchObject({ waiting: 0 });
  });
});
