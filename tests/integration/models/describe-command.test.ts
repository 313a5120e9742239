import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadModelFile, writeMadeModel } from "../../../src/models/index.ts";
import { command } from "../../helpers/command.ts";
import { testStation } from "../../helpers/station.ts";

const SMALL = { dim: 64, layers: 2, heads: 4, ff: 64, vocabulary_size: 400 };

function place() {
  const machine = "schema_version: 1\nmodel_dirs: [ROOT/store]\n";
  const { root, env } = testStation({ machine });
  mkdirSync(join(root, "store"));
  writeMadeModel(join(root, "store", "tiny.gguf"), SMALL);
  const describeModel = (...args: string[]) =>
    command(["model", "describe", ...args], { cwd: root, env });
  return { root, describeModel };
}

describe("touchstoned model describe", () => {
  it("writes a model disk file that names its source without a home folder", async () => {
    const { root, describeModel } = place();
    mkdirSync(join(root, "models"));
    const out = join(root, "models", "tiny.json");
    const run = await describeModel("store/tiny.gguf", "--out", out, "--name", "tiny:latest");
    expect(run).toMatchObject({ exit_code: 0, stderr: "" });
    expect(run.stdout).toMatch(/\| memory for one slot +\| \d+ MB/);
    const { model } = loadModelFile(out);
    expect(model).toMatchObject({ name: "tiny:latest", sources: [{ path: "tiny.gguf" }] });
    // Once more over the old description is fine.
    expect(await describeModel("store/tiny.gguf", "--out", out)).toMatchObject({ exit_code: 0 });
  });

  it("is the disk file itself on standard output, or with its memory as JSON", async () => {
    const { root, describeModel } = place();
    const plain = await describeModel("store/tiny.gguf");
    writeFileSync(join(root, "tiny.json"), plain.stdout);
    const { model } = loadModelFile(join(root, "tiny.json"));
    expect(model.sources).toEqual([{ source_type: "local_file", path: "store/tiny.gguf" }]);
    const { stdout } = await describeModel("store/tiny.gguf", "--context", "1000", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      path: null,
      model: { context_length_default: 1000 },
      memory: { context_length: 1000, slots: 1, kv_cache_mb: 1, total_mb: expect.any(Number) },
    });
  });

  it("does not write over anything else, least of all the model", async () => {
    const { root, describeModel } = place();
    const before = readFileSync(join(root, "store", "tiny.gguf"));
    const run = await describeModel("store/tiny.gguf", "--out", "store/tiny.gguf");
    expect(run).toMatchObject({
      exit_code: 2,
      stderr: expect.stringMatching(/no model disk file/),
    });
    expect(readFileSync(join(root, "store", "tiny.gguf"))).toEqual(before);
  });

  it("says what is wrong with a file that is no model", async () => {
    const { root, describeModel } = place();
    writeFileSync(join(root, "page.gguf"), "<html>not found, but saved all the same</html>");
    const run = await describeModel("page.gguf");
    expect(run).toMatchObject({
      exit_code: 64,
      stderr: expect.stringMatching(/is not a GGUF file/),
    });
    expect(await describeModel("store/tiny.gguf", "--context", "4k")).toMatchObject({
      exit_code: 2,
    });
  });
});
