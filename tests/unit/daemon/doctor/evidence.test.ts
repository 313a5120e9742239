import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  evidenceLines,
  realEvidence,
  type EvidenceInput,
} from "../../../../src/daemon/doctor/checks/evidence.ts";
import { commitOutbox, inspectGit, requestCalibration } from "../../../../src/evidence/index.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { GitRepo } from "../../../helpers/git-repo.ts";
import { measure } from "../../../helpers/measured.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const DAY_MS = 86_400_000;
const SERVER = {
  kind: "llama-server",
  version: "b1",
  model: { id: "qwen", digest: null },
  context_per_slot: 1024,
};

function look(root: string, state_dir: string, change: Partial<EvidenceInput> = {}) {
  return evidenceLines({
    ...realEvidence(root, state_dir),
    max_age_days: 30,
    renew_before_days: 7,
    waits: [],
    concurrent_runs: "measured",
    now_ms: systemClock.now_ms(),
    ...change,
  });
}

async function measured(days_ago: number) {
  const [root, state_dir] = [tempDir(), tempDir()];
  const { path } = await measure(state_dir, SERVER, days_ago);
  return { root, state_dir, path };
}

describe("evidence", () => {
  it("is not needed where nothing asks for it, and missed where something does", () => {
    const [root, state_dir] = [tempDir(), join(tempDir(), "none")];
    expect(look(root, state_dir, { concurrent_runs: 1 })).toMatchObject([{ level: "ok" }]);
    const [line] = look(root, state_dir);
    expect(line).toMatchObject({ level: "warning" });
    expect(line?.text).toContain("concurrent_runs: measured");
    expect(existsSync(state_dir)).toBe(false);
  });

  it("is one line while it is fresh, with the number and its time", async () => {
    const { root, state_dir } = await measured(2);
    const [line, ...more] = look(root, state_dir);
    expect(more).toEqual([]);
    expect(line).toMatchObject({ level: "ok" });
    expect(line?.text).toMatch(
      /^evidence for qwen on llama-server: 2 slots .* 2 days old, good for 27 more$/,
    );
  });

  it.each([
    [26, "expires in"],
    [40, "does not count any more"],
  ])("is a warning when it is %i days old", async (days, text) => {
    const { root, state_dir } = await measured(days);
    const [line] = look(root, state_dir);
    expect(line).toMatchObject({ level: "warning" });
    expect(line?.text).toContain(text);
    expect(line?.todo).toContain("touchstoned slots calibrate --model qwen");
  });

  it("fails where it was edited, and says what can be done", async () => {
    const { root, state_dir, path } = await measured(1);
    writeFileSync(path, readFileSync(path, "utf8").replace('"recommended":2', '"recommended":8'));
    const outbox = join(state_dir, "outbox");
    for (const name of readdirSync(outbox)) writeFileSync(join(outbox, name), "{}");
    const failures = look(root, state_dir).filter(({ level }) => level === "failure");
    expect(failures).toHaveLength(1);
    expect(failures[0]?.todo).toContain("evidence verify");
  });

  it("of another device is counted, and is neither ours nor wrong", async () => {
    const repo = new GitRepo().start();
    const theirs = tempDir();
    await measure(theirs, SERVER, 1);
    const place = { root: repo.root, state_dir: theirs, env: repo.env, clock: systemClock };
    const { committed } = await commitOutbox({ ...place, mode: "branch" });
    expect(committed).toHaveLength(1);
    const [line, ...more] = look(repo.root, tempDir());
    expect(more).toEqual([]);
    expect(line?.text).toContain("1 piece in evidence/, measured on other devices, do not count");
  });

  it("that is asked for is told, and warned of when nobody makes it", () => {
    const [root, state_dir] = [tempDir(), tempDir()];
    const now_ms = systemClock.now_ms();
    const request = { key: "k", runner: "desk", model: "qwen", reason: "new driver" };
    requestCalibration(state_dir, request, now_ms - 9 * DAY_MS);
    const [, asked] = look(root, state_dir);
    expect(asked).toMatchObject({ level: "warning" });
    expect(asked?.text).toContain("9 days");
    const [, told] = look(root, state_dir, { waits: [{ key: "k", why: "on battery" }] });
    expect(told?.text).toContain("; not yet: on battery");
    const [, fresh] = look(root, state_dir, { now_ms: now_ms - 8 * DAY_MS });
    expect(fresh).toMatchObject({ level: "ok" });
  });
});

describe("where evidence would go", () => {
  const inspect = (repo: GitRepo, mode: "branch" | "ref" = "branch") =>
    inspectGit({ root: repo.root, mode, env: repo.env, now_ms: systemClock.now_ms() });

  it("is the branch of the person", async () => {
    const repo = new GitRepo().start();
    expect(await inspect(repo)).toEqual({
      work_tree: repo.root,
      branch: "main",
      obstacle: null,
      index_lock_age_s: null,
    });
    expect(await inspect(repo, "ref")).toMatchObject({ branch: null, obstacle: null });
  });

  it("is nowhere yet without a commit, and on no branch", async () => {
    const repo = new GitRepo();
    expect((await inspect(repo)).obstacle).toContain("the first one is yours");
    repo.start().git("checkout", "-q", "--detach");
    expect(await inspect(repo)).toMatchObject({ branch: null });
    expect((await inspect(repo)).obstacle).toContain("detached");
  });

  it("is told with what is in the way, and changes nothing", async () => {
    const repo = new GitRepo().start();
    const before = repo.status();
    repo.put(".git/MERGE_HEAD", `${"0".repeat(40)}\n`);
    repo.put(".git/index.lock", "");
    const report = await inspect(repo);
    expect(report.obstacle).toContain("merge");
    expect(report.index_lock_age_s).not.toBeNull();
    repo.git("rev-parse", "HEAD");
    expect(before).toContain("branch.head main");
  });

  it("is nowhere in what is no repository", async () => {
    const root = tempDir();
    const env = { HOME: root, PATH: process.env["PATH"] };
    const report = await inspectGit({ root, mode: "branch", env, now_ms: 0 });
    expect(report).toMatchObject({ work_tree: null });
    expect(report.obstacle).toContain("git init");
  });
});
