import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CommitReport } from "../../../src/evidence/index.ts";
import { GitRepo } from "../../helpers/git-repo.ts";
import { EvidenceSetting } from "./setting.ts";

const WRITER = fileURLToPath(new URL("writer.ts", import.meta.url));
const WRITERS = 8;

interface Writer {
  ready: Promise<void>;
  kill: () => void;
  report: Promise<(CommitReport & { path: string }) | null>;
}

function startWriter(setting: EvidenceSetting, state_dir: string, mode: string, n: number): Writer {
  const { repo, root } = setting;
  const args = [WRITER, repo.home, root, state_dir, mode, String(n)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const ready = new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error("a writer ended before it was ready")));
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.startsWith("ready\n")) resolve();
    });
  });
  const report = once(child, "close").then(() => {
    const line = text.split("\n")[1] ?? "";
    return line === "" ? null : (JSON.parse(line) as CommitReport & { path: string });
  });
  return { ready, report, kill: () => child.kill("SIGKILL") };
}

function documents(repo: GitRepo, revision: string): string[] {
  const files = repo.git("ls-tree", "-r", "--name-only", revision, "evidence").trim().split("\n");
  return files.filter((file) => file.endsWith(".json")).toSorted();
}

describe.each(["branch", "ref"] as const)("eight writers at once, mode %s", (mode) => {
  it.each([
    ["one state", () => 0],
    ["a state each, as devices with one repository have", (n: number) => n],
  ])("%s: nothing is lost, nothing is there twice", async (_what, stateOf) => {
    const repo = new GitRepo().start();
    repo.put("notes.txt", "staged\n");
    repo.git("add", "-A");
    repo.put("notes.txt", "and changed again\n");
    const setting = new EvidenceSetting(repo);
    const before = repo.status();
    const states = Array.from({ length: WRITERS }, (_, n) => `${setting.state_dir}-${stateOf(n)}`);
    const writers = states.map((state_dir, n) => startWriter(setting, state_dir, mode, n));
    await Promise.all(writers.map(({ ready }) => ready));
    writeFileSync(join(repo.home, "go"), "");
    const reports = await Promise.all(writers.map(({ report }) => report));

    const revisions =
      mode === "branch"
        ? ["main"]
        : repo
            .git("for-each-ref", "--format=%(refname)", "refs/heads/touchstoned")
            .trim()
            .split("\n");
    const found = revisions.flatMap((revision) => documents(repo, revision)).toSorted();
    expect(found).toEqual(reports.map((report) => `${report?.path}.json`).toSorted());
    const commits = revisions.map((revision) =>
      Number(repo.git("rev-list", "--count", "--grep=Evidence-Key", revision)),
    );
    expect(commits.reduce((sum, n) => sum + n, 0)).toBe(WRITERS);
    expect(repo.status()).toBe(before);
    expect(repo.tryGit("fsck", "--strict", "--no-dangling").status).toBe(0);
    for (const state_dir of new Set(states)) {
      const left = readdirSync(join(state_dir, "outbox"));
      expect(left.toSorted()).toEqual(["committer.lock", "last-attempt.json"]);
    }
  });
});

describe("eight calls at once in one process", () => {
  it.each(["branch", "ref"] as const)("mode %s", async (mode) => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const paths = Array.from({ length: WRITERS }, () => setting.write());
    const reports = await Promise.all(paths.map(async () => setting.commit(mode)));
    const committed = reports.flatMap((report) => report.committed.map(({ path }) => path));
    expect(committed.toSorted()).toEqual(paths.map((path) => `${path}.json`).toSorted());
    expect(reports.every(({ waiting }) => waiting === 0)).toBe(true);
    expect(documents(repo, mode === "ref" ? setting.ref : "main")).toHaveLength(WRITERS);
    expect(repo.git("status", "--porcelain")).toBe("");
  });
});

describe("a writer that is killed", () => {
  it("leaves nothing that is in a person's way for longer than until the next commit", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    const writer = startWriter(setting, setting.state_dir, "branch", 0);
    await writer.ready;
    // The hook kills the writer while it holds the index and moves the branch.
    repo.hook("reference-transaction", `[ "$1" = prepared ] && kill -9 $(ps -o ppid= $PPID); true`);
    writeFileSync(join(repo.home, "go"), "");
    expect(await writer.report).toBeNull();
    repo.git("config", "core.hooksPath", "/nonexistent");
    expect(existsSync(join(repo.root, ".git", "index.lock"))).toBe(true);

    const report = await setting.commit("branch");
    expect(report).toMatchObject({ waiting: 0, reason: null });
    expect(report.committed).toHaveLength(1);
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(documents(repo, "main")).toHaveLength(1);
    expect(
      readdirSync(join(repo.root, ".git")).filter((name) => /lock|touchstoned/.test(name)),
    ).toEqual([]);
  });

  it("never takes away a lock that is somebody else's", async () => {
    const repo = new GitRepo().start();
    const setting = new EvidenceSetting(repo);
    setting.write();
    const lock = join(repo.root, ".git", "index.lock");
    writeFileSync(lock, "theirs");
    const mark = {
      lock,
      temporary: `${lock}.none`,
      dev: 1,
      ino: 1,
      owner: { pid: 1, start_token: "long gone", boot_id: "another boot" },
      ref: "refs/heads/main",
      commit: repo.git("rev-parse", "main").trim(),
    };
    const path = join(setting.state_dir, "outbox", "index-lock-00ff.json");
    writeFileSync(path, JSON.stringify(mark));
    await setting.commit("ref");
    expect(existsSync(lock)).toBe(true);
    expect(existsSync(path)).toBe(false);
  });
});
