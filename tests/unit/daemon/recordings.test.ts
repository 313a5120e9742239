import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makePool } from "../../../src/calibrate/index.ts";
import { bundleRecordings, packRecordings } from "../../../src/daemon/calibration/recordings.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { answer, FakeRunner, PACK, run } from "../eval/fakes.ts";

async function bundle(dir: string, prompt_tokens: number | null): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const runner = new FakeRunner();
  runner.reply = () => answer({ usage: { ...answer().usage, prompt_tokens } });
  await run(dir, runner);
}

describe("a pool from bundles", () => {
  it("has what was asked with what the server counted, each prompt once", async () => {
    const runs = tempDir();
    await bundle(join(runs, "night", "one"), 100);
    await bundle(join(runs, "two"), null);
    const { requests, warnings, notes } = bundleRecordings(runs);
    expect(warnings).toEqual([]);
    expect(notes[0]).toContain("prompts of 2 evaluation runs");
    expect(requests).toHaveLength(16);
    const pool = makePool(bundleRecordings(runs));
    // Two variants of three prompts; the repeat and the second bundle asked the same again.
    expect(pool).toMatchObject({ kind: "bundles", turns: 6, turns_measured: 6 });
    expect(pool.runs[0]?.turns[0]).toMatchObject({ prompt_tokens: 100, output_tokens: 21 });
    const asked = pool.runs.map(({ turns }) => turns[0]?.messages);
    expect(asked).toContainEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "What is six times seven?" },
    ]);
  });

  it("leaves a damaged bundle out and says so", async () => {
    const runs = tempDir();
    await bundle(join(runs, "good"), 100);
    await bundle(join(runs, "bad"), 100);
    writeFileSync(join(runs, "bad", "manifest.json"), "{");
    const { requests, warnings } = bundleRecordings(runs);
    expect(requests).toHaveLength(8);
    expect(warnings).toEqual([expect.stringMatching(/left out: .*bad.manifest\.json/)]);
  });

  it("leaves out a bundle whose pack is gone", async () => {
    const dir = join(tempDir(), "one");
    await bundle(dir, 100);
    rmSync(join(dir, "pack.yaml"));
    expect(() => bundleRecordings(dir)).toThrow(
      /no bundle with answers[^]*pack\.yaml: no such pack/,
    );
  });

  it.each([
    ["is empty", tempDir],
    ["is not there", () => "/nowhere/at/all"],
  ])("says what is missing where the directory %s", (_, dir) => {
    expect(() => bundleRecordings(dir())).toThrow(expect.objectContaining({ exitCode: 64 }));
  });
});

describe("a pool from a pack", () => {
  it("has every prompt of every variant, uncounted", () => {
    const path = join(tempDir(), "pack.yaml");
    writeFileSync(path, PACK);
    const pool = makePool(packRecordings(path));
    expect(pool).toMatchObject({ kind: "pack", turns: 6, turns_measured: 0 });
    expect(pool.notes.join("\n")).toContain("6 of 6 turns is an estimate (4 characters a token");
  });
});
