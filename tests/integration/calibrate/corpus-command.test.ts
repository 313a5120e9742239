import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadCorpus } from "../../../src/calibrate/index.ts";
import { command } from "../../helpers/command.ts";
import { PROJECT_ROOT } from "../../helpers/project-files.ts";
import { testStation } from "../../helpers/station.ts";

/** A request log of `n` conversations of three turns, as a proxy writes it. */
function writeLog(path: string, n: number): void {
  const lines: string[] = [];
  for (let i = 0; i < n; i += 1) {
    const messages: { role: string; content: string }[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      messages.push({ role: "user", content: `someone-${i} asks for ${turn}` });
      const usage = { prompt_tokens: 800 + i * 40 + turn * 90, completion_tokens: 5 };
      lines.push(JSON.stringify({ request: { model: "m", messages }, response: { usage } }));
      messages.push({ role: "assistant", content: `said ${turn}` });
    }
  }
  writeFileSync(path, `${lines.join("\n")}\n`);
}

function place() {
  const { home, env, root } = testStation({});
  writeLog(join(root, "log.jsonl"), 64);
  const corpus = (...args: string[]) => command(["slots", "corpus", ...args], { cwd: root, env });
  return { home, root, corpus };
}

describe("touchstoned slots corpus", () => {
  it("draws from a request log: the same bytes each time, whole, for the owner alone", async () => {
    const { root, corpus } = place();
    const first = await corpus("--pool", "log.jsonl", "--out", "a.json", "--json");
    expect(first).toMatchObject({ exit_code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toMatchObject({
      path: join(root, "a.json"),
      segments: 64,
      turns: 192,
      segment_length: 3,
      source: { kind: "requests" },
      population: { runs: 64, turns: 192, turns_measured: 192 },
    });
    await corpus("--pool", "log.jsonl", "--out", "b.json");
    expect(readFileSync(join(root, "b.json"))).toEqual(readFileSync(join(root, "a.json")));
    expect(loadCorpus(join(root, "a.json")).segments).toHaveLength(64);
    expect(statSync(join(root, "a.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(root).toSorted()).toEqual(["a.json", "b.json", "log.jsonl"]);
  });

  it("shows strata and caveats, and the path of nothing in the corpus", async () => {
    const { root, corpus } = place();
    const strata = ["--segments", "20", "--strata", "1500,2500"];
    const run = await corpus("--pool", "log.jsonl", "--out", "c.json", ...strata);
    const { exit_code, stdout, stderr } = run;
    expect(exit_code).toBe(0);
    expect(stdout).toMatch(/^20 segments of 3 turns, drawn from 192 turns in 64 conversations/);
    expect(stdout).toMatch(/\| >=2500 +\| \d+ +\| \d+\.\d % +\| \d+ +\|/);
    expect(stderr).toContain("note: 20 segments; a fidelity verdict needs 59");
    expect(readFileSync(join(root, "c.json"), "utf8")).not.toContain(root);
  });

  it("says what a pool that is too small lacks, and writes nothing", async () => {
    const { root, corpus } = place();
    const pack = join(PROJECT_ROOT, "packs", "plumbing.yaml");
    const { exit_code, stderr } = await corpus("--pack", pack, "--out", "d.json");
    expect(exit_code).toBe(64);
    expect(stderr).toMatch(
      /the pool carries 5 segments of one turn.*59 are needed.*54 are missing/,
    );
    expect(existsSync(join(root, "d.json"))).toBe(false);
  });

  it("draws over a corpus, also an edited one, and over nothing else", async () => {
    const { root, corpus } = place();
    const log = readFileSync(join(root, "log.jsonl"), "utf8");
    const { exit_code, stderr } = await corpus("--pool", "log.jsonl", "--out", "log.jsonl");
    expect({ exit_code, stderr }).toMatchObject({
      exit_code: 2,
      stderr: expect.stringContaining("log.jsonl is there and is no corpus"),
    });
    expect(readFileSync(join(root, "log.jsonl"), "utf8")).toBe(log);
    expect(await corpus("--pool", "log.jsonl", "--out", "/dev/null")).toMatchObject({
      exit_code: 2,
    });
    await corpus("--pool", "log.jsonl", "--out", "a.json");
    const drawn = readFileSync(join(root, "a.json"), "utf8");
    writeFileSync(join(root, "a.json"), drawn.replace("someone-1", "somebody-1"));
    expect(await corpus("--pool", "log.jsonl", "--out", "a.json")).toMatchObject({ exit_code: 0 });
    expect(readFileSync(join(root, "a.json"), "utf8")).toBe(drawn);
  });

  it.each([
    ["no pool", [], /give one of --pool, --from-runs and --pack/],
    ["two pools", ["--pool", "log.jsonl", "--pack", "p"], /give one of/],
    ["strata that fall", ["--pool", "log.jsonl", "--strata", "9,3"], /--strata: 9,3 does not rise/],
    ["half a segment", ["--pool", "log.jsonl", "--segments", "1.5"], /--segments: "1.5" is not a/],
  ])("refuses %s with exit code 2", async (_, args, message) => {
    const { corpus } = place();
    const { exit_code, stderr } = await corpus(...args, "--out", "e.json");
    expect({ exit_code, stderr }).toEqual({ exit_code: 2, stderr: expect.stringMatching(message) });
  });

  it("names what it looked for where the station has no bundles yet", async () => {
    const { corpus } = place();
    const { exit_code, stderr } = await corpus("--from-runs", "--out", "f.json");
    expect(exit_code).toBe(64);
    expect(stderr).toMatch(/runs/);
  });
});
