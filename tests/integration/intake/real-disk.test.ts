import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { realDisk } from "../../../src/core/disk.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import {
  createParser,
  Inbox,
  stationTrust,
  submitFile,
  watchInbox,
  type IntakeWorld,
  type PassReport,
} from "../../../src/intake/index.ts";
import { openStation } from "../../../src/station/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { testStation } from "../../helpers/station.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";
import { packText } from "../steps/setting.ts";

const MIN_AGE_MS = 30_000;
const MACHINE =
  "trusted_stations: [ROOT]\nrunners: [{name: local, kind: ollama, url: 'http://127.0.0.1:1'}]\n";

function night(model: string): string {
  return `entries:\n  - {model: ${model}, pack: packs/mini.json}\n`;
}

/** A station on the real disk, with the real parser and a clock of the test's. */
async function setting() {
  const { root, env } = testStation({ policy: "schema_version: 1\n", machine: MACHINE });
  const at = join(root, "inbox");
  mkdirSync(at, { mode: 0o700 });
  mkdirSync(join(root, "packs"));
  writeFileSync(join(root, "packs", "mini.json"), packText({ prompts: 1, max_tokens: 5 }));
  const station = await openStation({ env, cwd: root });
  const clock = new FakeClock({ wall_ms: Date.now() + 3_600_000 });
  const store = new MemoryStore();
  const world: IntakeWorld = {
    paths: { inbox: at, runs_dir: station.runs_dir, state_dir: station.state_dir },
    disk: realDisk,
    clock,
    new_id: ulidSource(systemClock),
    store,
    trust: stationTrust(at, env),
    parser: createParser({ station, clock: systemClock }),
  };
  const inbox = new Inbox(world, { min_age_ms: MIN_AGE_MS });
  await inbox.recover();
  const rest = async (): Promise<Record<string, PassReport["outcomes"][number]["outcome"]>> => {
    await inbox.pass(new AbortController().signal);
    clock.advance(2 * MIN_AGE_MS);
    const { outcomes } = await inbox.pass(new AbortController().signal);
    return Object.fromEntries(outcomes.map(({ name, outcome }) => [name, outcome]));
  };
  return { at, root, station, clock, store, world, inbox, rest };
}

describe("the inbox on a real disk", () => {
  it("takes a file up with its packs, and puts it into failed/ when it was cancelled", async () => {
    const { at, rest, store, inbox, clock } = await setting();
    writeFileSync(join(at, "night.yaml"), night("m"), { mode: 0o600 });
    utimesSync(join(at, "night.yaml"), 1, 1); // as `cp -p` does
    expect(await rest()).toMatchObject({ "night.yaml": { kind: "accepted", jobs: 1 } });
    const [submission] = await store.submissions();
    const directory = submission?.snapshot_path?.replace(/\/source\.yaml$/, "") ?? "";
    expect(readdirSync(directory).sort()).toEqual(["inputs", "source.yaml", "submission.json"]);
    expect(await rest()).toEqual({});
    for (const { id } of await store.jobs()) await store.cancel(id, clock.now_ms());
    expect(await inbox.finishEnded()).toEqual({ placed: [submission?.id], troubles: [] });
    expect(readdirSync(join(at, "failed"))).toEqual([expect.stringMatching(/-night\.yaml$/)]);
    expect(existsSync(join(at, "night.yaml"))).toBe(false);
  });

  it("has all but the last step done when a file that rests alone is ripe", async () => {
    const { at, inbox, clock, store, station, world } = await setting();
    const pass = async () => inbox.pass(new AbortController().signal);
    writeFileSync(join(at, "night.yaml"), night("m"), { mode: 0o600 });
    await pass();
    clock.advance(MIN_AGE_MS - 4000);
    await pass();
    await waitFor("a parser", () => world.parser.isReady());
    clock.advance(2000);
    expect((await pass()).outcomes).toEqual([]);
    const [directory = ""] = readdirSync(station.runs_dir);
    const written = () => readdirSync(join(station.runs_dir, directory)).sort();
    expect(written()).toEqual(["inputs", "source.yaml"]);
    expect(await store.submissions()).toEqual([]);
    clock.advance(2000);
    expect((await pass()).outcomes).toMatchObject([{ outcome: { kind: "accepted" } }]);
    expect(written()).toEqual(["inputs", "source.yaml", "submission.json"]);
    expect(readdirSync(station.runs_dir)).toEqual([directory]);
    expect(readdirSync(join(station.state_dir, "intake"))).toEqual([]);
    await inbox.close();
  });

  it("gives every odd thing its verdict, and loses no good file for it", async () => {
    const { at, rest } = await setting();
    const put = (name: string, content: string | Buffer) =>
      writeFileSync(join(at, name), content, { mode: 0o600 });
    put("good.yaml", night("m"));
    put("big.yaml", Buffer.alloc(10_000_000, "x"));
    put("empty.yaml", "");
    put("utf16.yaml", Buffer.from(`\uFEFF${night("m")}`, "utf16le"));
    put(
      "bomb.yaml",
      `a: &a [1,1]\n${"b".repeat(3)}: &b [${Array(90).fill("*a").join(",")}]\nc: [${Array(90).fill("*b").join(",")}]\n`,
    );
    put("deep.yaml", "[".repeat(5000));
    put("linked.yaml", night("linked"));
    linkSync(join(at, "linked.yaml"), join(at, "..", "other-name"));
    put("writable.yaml", night("w"));
    chmodSync(join(at, "writable.yaml"), 0o666);
    symlinkSync("/etc/passwd", join(at, "link.yaml"));
    execFileSync("mkfifo", [join(at, "pipe.yaml")]);
    mkdirSync(join(at, "dir.yaml"));
    const found = await rest();
    const rules = Object.entries(found).map(([name, outcome]) => [
      name,
      outcome.kind === "rejected" ? outcome.refusal.rule : outcome.kind,
    ]);
    expect(Object.fromEntries(rules)).toEqual({
      "good.yaml": "accepted",
      "big.yaml": "too_big",
      "empty.yaml": "empty",
      "utf16.yaml": "bad_encoding",
      "bomb.yaml": "alias_bomb",
      "deep.yaml": "too_deep",
      "linked.yaml": "hard_linked",
      "writable.yaml": "bad_mode",
      "link.yaml": "not_a_file",
      "pipe.yaml": "not_a_file",
    });
    expect(readdirSync(at).sort()).toEqual(["dir.yaml", "good.yaml", "rejected"]);
    expect(readdirSync(join(at, "rejected"))).toHaveLength(18);
    expect(readFileSync("/etc/passwd", "utf8")).toContain("root");
    // The commands in the reason are about the file where it is now.
    const names = readdirSync(join(at, "rejected")).map((name) => join(at, "rejected", name));
    const refused = names.find((name) => name.endsWith("-writable.yaml")) ?? "";
    const reason = JSON.parse(readFileSync(`${refused}.reason.json`, "utf8"));
    expect(reason.message).toContain(`run: chmod go-w ${refused}`);
    expect(reason.what_to_do).toContain(`mv ${refused} ${join(at, "writable.yaml")}`);
  });

  it("is blocked where others may write the inbox, with the command that mends it", async () => {
    const { at, inbox, rest } = await setting();
    writeFileSync(join(at, "a.yaml"), night("m"), { mode: 0o600 });
    chmodSync(at, 0o777);
    const { blocked } = await inbox.pass(new AbortController().signal);
    expect(blocked).toMatch(/inbox can be written by everyone; run: chmod go-w .*inbox/);
    chmodSync(at, 0o700);
    expect((await rest())["a.yaml"]?.kind).toBe("accepted");
  });

  it("finds what another process dropped with submitFile whole", async () => {
    const { at, rest, world } = await setting();
    const bytes = Buffer.from(night("m"));
    const drop = { disk: realDisk, new_id: world.new_id, inbox: at, name: "s.yaml", bytes };
    expect(submitFile({ ...drop, if_taken: "refuse" })).toBe("s.yaml");
    expect(submitFile({ ...drop, if_taken: "rename", bytes: Buffer.from(night("n")) })).toBe(
      "s-2.yaml",
    );
    expect(readdirSync(at).sort()).toEqual(["s-2.yaml", "s.yaml"]);
    const found = await rest();
    expect([found["s.yaml"]?.kind, found["s-2.yaml"]?.kind]).toEqual(["accepted", "accepted"]);
  });
});

describe("the real disk's calls", () => {
  it("tell what a name is without following it, and refuse to open a link", () => {
    const dir = tempDir();
    writeFileSync(join(dir, "f"), "abc");
    symlinkSync("f", join(dir, "l"));
    execFileSync("mkfifo", [join(dir, "p")]);
    expect(realDisk.lstat(join(dir, "none"))).toBeUndefined();
    expect(realDisk.lstat(join(dir, "l"))?.kind).toBe("symlink");
    expect(() => realDisk.read(join(dir, "l"), 10)).toThrow("ELOOP");
    expect(realDisk.read(join(dir, "p"), 10)).toMatchObject({ before: { kind: "fifo" } });
    expect(realDisk.read(join(dir, "f"), 10).bytes.toString()).toBe("abc");
    expect(realDisk.read(join(dir, "f"), 1).bytes.toString()).toBe("ab");
    expect(() => realDisk.createSynced(join(dir, "f"), "x", 0o600)).toThrow("EEXIST");
    expect(() => realDisk.link(join(dir, "f"), join(dir, "l"))).toThrow("EEXIST");
    expect(readFileSync(join(dir, "f"), "utf8")).toBe("abc");
  });
});

describe("watchInbox", () => {
  it("hints at a drop and a rename, and says when its directory is gone", async () => {
    const dir = join(tempDir(), "inbox");
    mkdirSync(dir);
    let hints = 0;
    let lost: string | null = null;
    const watcher = await watchInbox({
      inbox: dir,
      onHint: () => (hints += 1),
      onLost: (reason) => (lost = reason),
    });
    writeFileSync(join(dir, "a.yaml"), "x");
    await waitFor("a hint at the drop", () => hints > 0);
    hints = 0;
    renameSync(join(dir, "a.yaml"), join(dir, "b.yaml"));
    await waitFor("a hint at the rename", () => hints > 0);
    expect(lost).toBeNull();
    rmSync(dir, { recursive: true });
    expect(await waitFor("the loss", () => lost ?? undefined)).toContain(
      "not the directory any more",
    );
    await watcher.close();
  });
});
