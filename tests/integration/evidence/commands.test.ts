import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { deviceKey, EvidenceBook, type Evidence } from "../../../src/evidence/index.ts";
import { locateState } from "../../../src/station/light.ts";
import { command, isolatedEnv } from "../../helpers/command.ts";
import { SAMPLE_CREATED_MS, sampleEvidence } from "../../helpers/sample-evidence.ts";
import { GitRepo } from "../../helpers/git-repo.ts";

let repo: GitRepo;
let state_dir = "";
let device = "";

/** Puts evidence of this device into the outbox, so many minutes after the first. */
function measured(minutes = 0): { path: string; evidence: Evidence } {
  const created_ms = SAMPLE_CREATED_MS + minutes * 60_000;
  const evidence = sampleEvidence(state_dir, { created_ms });
  return new EvidenceBook(state_dir, deviceKey(state_dir)).write(evidence);
}

const run = (args: string[], cwd = repo.root) => command(args, { cwd, env: repo.env });

beforeEach(async () => {
  repo = new GitRepo();
  await command(["init", repo.root], { env: repo.env });
  repo.put("touchstoned.yaml", "schema_version: 1\nevidence: {max_age_days: 20}\n");
  repo.commit("a station");
  state_dir = locateState({ env: repo.env, cwd: repo.root }).state_dir;
  device = deviceKey(state_dir).name;
});

/** A clone elsewhere, in a home of its own: no state, no key, nothing but what git has. */
function clone(): {
  root: string;
  env: Record<string, string>;
  run: (args: string[]) => ReturnType<typeof run>;
} {
  const root = join(repo.home, "clone");
  repo.git("clone", "-q", repo.root, root);
  const env = { ...isolatedEnv(join(repo.home, "other")), PATH: process.env["PATH"] ?? "" };
  return { root, env, run: (args) => command(args, { cwd: root, env }) };
}

describe("evidence commit", () => {
  it("commits what waits to the current branch, and says where", async () => {
    const { path } = measured();
    const done = await run(["evidence", "commit"]);
    expect(done).toMatchObject({ exit_code: 0, stderr: "" });
    expect(done.stdout).toMatch(new RegExp(`^${path}\\.json: [0-9a-f]{12} on main\n$`));
    expect(repo.git("status", "--porcelain")).toBe("");
    expect((await run(["evidence", "commit"])).stdout).toBe("nothing waits to be committed\n");
  });

  it("ends with 75 and the reason where something is in the way", async () => {
    measured();
    repo.git("checkout", "-q", "--detach");
    const waits = await run(["evidence", "commit"]);
    expect(waits).toMatchObject({ exit_code: 75, stdout: "" });
    expect(waits.stderr).toBe(
      "1 not committed yet: HEAD is detached: there is no current branch\n",
    );
    const list = await run(["evidence", "list"]);
    expect(list.stdout).toContain("not committed yet");
    expect(list.stderr).toContain("HEAD is detached");
    const json = await run(["evidence", "commit", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ committed: [], waiting: 1 });
  });

  it("follows the policy: a branch of its own, or nowhere", async () => {
    measured();
    repo.put("touchstoned.yaml", "evidence: {commit: off}\n".replace("off", '"off"'));
    expect((await run(["evidence", "commit"])).stderr).toMatch(/evidence\.commit is off/);
    repo.put("touchstoned.yaml", "evidence: {commit: ref}\n");
    const done = await run(["evidence", "commit"]);
    expect(done.stdout).toContain(`on touchstoned/evidence/${device}\n`);
    expect(readdirSync(repo.root)).not.toContain("evidence");
  });
});

describe("evidence verify", () => {
  it("holds in a plain clone, offline, without station state", async () => {
    const { path } = measured();
    await run(["evidence", "commit"]);
    const other = clone();
    rmSync(join(other.root, "touchstoned.yaml"));
    const verified = await other.run(["evidence", "verify"]);
    expect(verified).toMatchObject({ exit_code: 0, stderr: "1 of 1 hold\n" });
    expect(verified.stdout).toBe(`ok      ${path}.json (2 slots, gpt-oss:20b, device ${device})\n`);
    for (const target of [`${path}.json`, `${path}.md`, `evidence/${device}`, "evidence", "."]) {
      const one = await other.run(["evidence", "verify", target, "--json"]);
      expect(JSON.parse(one.stdout), target).toMatchObject({
        ok: true,
        files: [{ path: `${path}.json`, ok: true, recommended: 2, notes: [] }],
      });
    }
  });

  it("ends with 1 and names each fault", async () => {
    const { path } = measured();
    const second = measured(5).path;
    await run(["evidence", "commit"]);
    const { root, run: there } = clone();
    const file = join(root, `${path}.json`);
    const good = readFileSync(file, "utf8");
    writeFileSync(file, good.replace('"recommended":2', '"recommended":3'));
    writeFileSync(join(root, `${path}.md`), "# 8 slots: tiny\n");
    const found = await there(["evidence", "verify"]);
    expect(found.exit_code).toBe(1);
    expect(found.stdout.split("\n")).toEqual([
      `REFUSED ${path}.json: its signature does not fit: it was edited, or signed by another device`,
      expect.stringMatching(/its verdict does not follow from the recorded blocks: recommended/),
      expect.stringMatching(/\.md was edited.*recommended is 3 in the document and 8 there/),
      expect.stringMatching(/\.svg was edited/),
      `ok      ${second}.json (2 slots, gpt-oss:20b, device ${device})`,
      "",
    ]);
    expect(found.stderr).toContain("1 of 2 do not hold");

    writeFileSync(file, good);
    cpSync(
      file,
      join(root, "evidence", device, "gpt-oss-20b", "2020-01-01T00-00-00Z-00000000.json"),
    );
    const moved = await there(["evidence", "verify", "evidence"]);
    expect(moved.stdout).toContain("its name has another key");
    expect(moved.stdout).toContain("its name has another date");
  });

  it("accepts another device only where its key is pinned or given", async () => {
    const { path } = measured();
    await run(["evidence", "commit"]);
    const { root, run: there } = clone();
    const key = join(root, "evidence", "devices", `${device}.pub`);
    const kept = join(repo.home, "kept.pub");
    cpSync(key, kept);
    rmSync(key);
    const refused = await there(["evidence", "verify", `${path}.json`]);
    expect(refused.exit_code).toBe(1);
    expect(refused.stdout).toMatch(/whose key is not among those that are accepted/);
    const given = await there(["evidence", "verify", `${path}.json`, "--key", kept]);
    expect(given.exit_code).toBe(0);

    // A key under another device's name pins nothing.
    cpSync(kept, join(root, "evidence", "devices", "0000000000000000.pub"));
    const lying = await there(["evidence", "verify"]);
    expect(lying.exit_code).toBe(1);
    expect(lying.stdout).toMatch(/0000000000000000\.pub: it is the key of another device/);
  });

  it("says what is no path and what has no evidence", async () => {
    expect(await run(["evidence", "verify", "nowhere.json"])).toMatchObject({ exit_code: 64 });
    mkdirSync(join(repo.home, "empty"));
    const empty = await run(["evidence", "verify"], join(repo.home, "empty"));
    expect(empty).toMatchObject({ exit_code: 64 });
    const none = await run(["evidence", "verify"]);
    expect(none).toMatchObject({ exit_code: 0, stderr: "no evidence to verify\n" });
  });
});

describe("evidence list, show, diff and prune", () => {
  it("show what this device has measured, fresh or not", async () => {
    const { evidence } = measured();
    await run(["evidence", "commit"]);
    measured(5);
    const list = await run(["evidence", "list"]);
    expect(list.stdout).toContain(`${device} (this)  gpt-oss:20b  llama-server  2      2`);
    expect(list.stdout).toMatch(/stale: its oldest measurement is \d+ days old; 20 is the limit/);
    expect(list.stderr).toContain("1 superseded (--all shows them)");
    const json = JSON.parse((await run(["evidence", "list", "--all", "--json"])).stdout);
    expect(json).toMatchObject({
      evidence: [
        { newest: false, committed: true, fresh: false, own: true },
        { newest: true, committed: false, recommended: 2, model: "gpt-oss:20b" },
      ],
      refused: [],
      outbox: { waiting: 1 },
    });
    const show = await run(["evidence", "show", "gpt-oss:20b"]);
    expect(show.stdout).toMatch(/^# 2 slots: gpt-oss:20b on Mac17,2\n/);
    expect(show.stderr).toContain("not committed yet");
    const document = await run(["evidence", "show", evidence.key.slice(0, 8), "--json"]);
    expect(JSON.parse(document.stdout)).toMatchObject({ key: evidence.key });
    const diff = await run(["evidence", "diff", evidence.key.slice(0, 8)]);
    expect(diff.stdout).toContain("identity: the same");
    const unknown = await run(["evidence", "show", "llama3"]);
    expect(unknown).toMatchObject({ exit_code: 64 });
    expect(unknown.stderr).toContain("gpt-oss:20b");
  });

  it("show takes a whole path, and says why a document is not believed", async () => {
    const { path } = measured();
    await run(["evidence", "commit"]);
    const file = join(repo.root, `${path}.json`);
    expect((await run(["evidence", "show", file])).stdout).toMatch(/^# 2 slots/);
    const text = readFileSync(file, "utf8");
    rmSync(join(state_dir, "evidence"), { recursive: true });
    writeFileSync(file, text.replace('"recommended":2', '"recommended":4'));
    const edited = await run(["evidence", "show", file]);
    expect(edited).toMatchObject({ exit_code: 64, stdout: "" });
    expect(edited.stderr).toContain(`${path}.json: not believed: its signature does not fit`);
    const list = await run(["evidence", "list"]);
    expect(list.stdout).toMatch(/^no evidence that can be believed/);
    expect(list.stderr).toContain("not believed: ");
  });

  it("prune says what it would do, and does it", async () => {
    measured();
    measured(5);
    await run(["evidence", "commit"]);
    const dry = await run(["evidence", "prune", "--files", "1", "--dry-run"]);
    expect(dry.stdout.match(/^would be removed/gm)).toHaveLength(4);
    expect(repo.git("status", "--porcelain")).toBe("");
    const done = await run(["evidence", "prune", "--files", "1"]);
    expect(done.stdout.match(/^removed from the work tree/gm)).toHaveLength(3);
    expect(repo.git("status", "--porcelain").trim().split("\n")).toHaveLength(3);
    expect(await run(["evidence", "prune", "--files", "0"])).toMatchObject({ exit_code: 2 });
  });

  it("work in a clone that is no station", async () => {
    measured();
    await run(["evidence", "commit"]);
    const { root, run: there } = clone();
    rmSync(join(root, "touchstoned.yaml"));
    const list = await there(["evidence", "list", "--json"]);
    expect(JSON.parse(list.stdout)).toMatchObject({ evidence: [{ own: false }], outbox: null });
    expect((await there(["evidence", "show"])).stdout).toMatch(/^# 2 slots/);
  });
});
