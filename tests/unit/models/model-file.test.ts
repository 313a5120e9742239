import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { modelId } from "../../../src/models/model-id.ts";
import {
  describeModel,
  loadModelFile,
  sourceDrift,
  writeMadeModel,
  type ModelFile,
} from "../../../src/models/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const SMALL = { dim: 64, layers: 1, heads: 4, ff: 64, vocabulary_size: 400 };

async function described(dir: string) {
  const source = join(dir, "tiny.gguf");
  writeMadeModel(source, SMALL);
  const { model } = await describeModel(source, { source_path: "tiny.gguf" });
  return { source, model };
}

function written(model: object): string {
  const path = join(tempDir(), "model.json");
  writeFileSync(path, JSON.stringify(model, null, 2));
  return path;
}

describe("the id of a model", () => {
  it("is the UUID, version 5, of its hash", () => {
    expect(modelId("sha256:deadbeef1234")).toBe("83b68f17-9ec9-5b94-9bbb-4210b7f3ce52");
    expect(modelId("deadbeef1234")).toMatch(/^a00aea6f-/);
  });
});

describe("a model disk file", () => {
  it("comes back as it was described", async () => {
    const { model } = await described(tempDir());
    const loaded = loadModelFile(written(model));
    expect(loaded.model).toEqual(model);
    expect(loaded.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(model).toMatchObject({
      name: "tiny",
      quantization: "f16",
      context_length_default: 4096,
    });
  });

  it("tells the hash of every byte and how far it has come", async () => {
    const dir = tempDir();
    const { source, model } = await described(dir);
    let read = 0;
    const again = await describeModel(source, {
      source_path: "x",
      name: "tiny:latest",
      context_length: 512,
      onProgress: (bytes) => (read = bytes),
    });
    expect(read).toBe(model.model_source_size);
    expect(again.model.model_hash).toBe(model.model_hash);
    expect(again.model).toMatchObject({ name: "tiny:latest", context_length_default: 512 });
    writeMadeModel(source, { ...SMALL, seed: 2 });
    const other = await describeModel(source, { source_path: "x" });
    expect(other.model.model_id).not.toBe(model.model_id);
  });

  it("is refused with the place and the nearest key", async () => {
    const { model } = await described(tempDir());
    const { quantization, ...rest } = model;
    const path = written({ ...rest, quantisation: quantization });
    expect(() => loadModelFile(path)).toThrow(
      /model\.json:\d+:\d+.*"quantisation"[^]*quantization/,
    );
  });

  it.each([
    ["another schema", { schema_version: 2 }, /schema_version/],
    ["a bare hash", { model_hash: "deadbeef" }, /must be sha256:/],
    ["an id of something else", { model_id: modelId("x") }, /model_id is not the one/],
    ["no source", { sources: [] }, /sources/],
    ["a local file without a path", { sources: [{ source_type: "local_file" }] }, /needs a path/],
    ["a web source without an address", { sources: [{ source_type: "ollama" }] }, /needs a url/],
  ])("is refused with %s", async (_, change, message) => {
    const { model } = await described(tempDir());
    expect(() => loadModelFile(written({ ...model, ...change }))).toThrow(message);
  });

  it("is not the model itself", async () => {
    const { source } = await described(tempDir());
    expect(() => loadModelFile(source)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("model describe") }),
    );
    expect(() => loadModelFile("/nowhere/m.json")).toThrow(/no such model disk file/);
  });
});

describe("drift of the source", () => {
  const there = (path: string) => () => path;

  it("is nothing while size and time are the same", async () => {
    const { source, model } = await described(tempDir());
    expect(sourceDrift(model, there(source))).toBeNull();
  });

  it("is a change of time, of size, or no file", async () => {
    const { source, model } = await described(tempDir());
    utimesSync(source, 1000, 1000);
    expect(sourceDrift(model, there(source))).toMatch(/was changed at 1970-01-01T00:16:40/);
    writeFileSync(source, "short");
    expect(sourceDrift(model, there(source))).toMatch(/has 5 bytes, not \d+/);
    rmSync(source);
    expect(sourceDrift(model, there(source))).toMatch(/a part of its file .* is gone/);
    expect(sourceDrift(model, () => null)).toBe("its file tiny.gguf is not there");
  });

  it("is not asked of a model that is only elsewhere", async () => {
    const { model } = await described(tempDir());
    const sources: ModelFile["sources"] = [{ source_type: "ollama", url: "qwen3:8b" }];
    expect(sourceDrift({ ...model, sources }, () => null)).toBeNull();
  });
});
