import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { prettyJson } from "../../../src/core/json.ts";
import { describeModel, writeMadeModel } from "../../../src/models/index.ts";
import { machineSchema } from "../../../src/station/schemas.ts";
import { confineModel, loadNamedModel } from "../../../src/steps/named-model.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const SMALL = { dim: 64, layers: 2, heads: 4, ff: 64, vocabulary_size: 400 };
const STRICT = { strict_cache: true };

let root: string;
let store: string;

beforeEach(() => {
  [root, store] = [tempDir(), tempDir()];
  mkdirSync(join(root, "models"));
  writeMadeModel(join(store, "tiny.gguf"), SMALL);
});

function where(runners: object[] = []) {
  const machine = machineSchema.parse({ schema_version: 1, model_dirs: [store], runners });
  return { root, machine };
}

async function write(source_path: string, path = join(root, "models", "tiny.json")) {
  const source = join(store, "tiny.gguf");
  const { model } = await describeModel(source, { source_path, name: "tiny:latest" });
  writeFileSync(path, prettyJson(model));
  return path;
}

describe("a model disk file in a queue file", () => {
  it("gives the runner's name, the quantization and its memory on each runner", async () => {
    const path = await write("tiny.gguf");
    const start = { model_file: "/m.gguf", context_length: 1_000_000, slots: 4 };
    const runners = [
      { name: "there", kind: "ollama", url: "http://127.0.0.1:1" },
      { name: "own", kind: "llama-server", start },
    ];
    const { model, warnings } = loadNamedModel(where(runners), path, "models/tiny.json", STRICT);
    expect(warnings).toEqual([]);
    expect(model.spec).toMatchObject({ id: "tiny:latest", quant: "f16" });
    // 256 numbers of 2 bytes for each of 4 slots of a million tokens.
    const more = model.memoryMb("own") - model.memoryMb("there");
    expect(Math.abs(more - (256 * 2 * (4_000_000 - 4096)) / 1e6)).toBeLessThanOrEqual(1);
  });

  it("whose model was changed is a warning, or refused where nobody watches", async () => {
    const path = await write("tiny.gguf");
    utimesSync(join(store, "tiny.gguf"), 1000, 1000);
    const lenient = loadNamedModel(where(), path, "models/tiny.json", { strict_cache: false });
    expect(lenient.warnings).toEqual([
      expect.stringMatching(/^models\/tiny\.json: its file .* was changed/),
    ]);
    expect(() => loadNamedModel(where(), path, "models/tiny.json", STRICT)).toThrow(
      expect.objectContaining({
        exitCode: 64,
        code: "model_drift",
        hint: expect.stringContaining("describe"),
      }),
    );
  });

  it("finds its model beside itself, also when a copy of it is read", async () => {
    writeMadeModel(join(root, "models", "tiny.gguf"), SMALL);
    for (const folder of [join(root, "models"), store]) utimesSync(join(folder, "tiny.gguf"), 9, 9);
    const copy = await write("tiny.gguf", join(tempDir(), "copy.json"));
    const { warnings } = loadNamedModel(where(), copy, "models/tiny.json", STRICT);
    expect(warnings).toEqual([]);
  });

  it("never reaches for a model outside the station and model_dirs", async () => {
    const elsewhere = tempDir();
    writeMadeModel(join(elsewhere, "tiny.gguf"), SMALL);
    const path = await write(join(elsewhere, "tiny.gguf"));
    const { warnings } = loadNamedModel(where(), path, "models/tiny.json", { strict_cache: false });
    expect(warnings).toEqual([expect.stringMatching(/neither in the station nor in model_dirs/)]);
  });
});

describe("where a model disk file may lie", () => {
  it("is the station, and by an absolute path model_dirs", () => {
    expect(confineModel(where(), "models/x.json", "m")).toBe(join(root, "models/x.json"));
    expect(confineModel(where(), join(store, "x.json"), "m")).toBe(join(store, "x.json"));
  });

  it.each([
    ["elsewhere", () => "/etc/passwd"],
    ["up and out", () => "../x.json"],
    ["beside model_dirs", () => `${store}-other/x.json`],
  ])("is not %s", (_, path) => {
    expect(() => confineModel(where(), path(), "model disk file")).toThrow(
      expect.objectContaining({ code: "outside_station" }),
    );
  });

  it("is not behind a link that leads out", () => {
    symlinkSync("/etc", join(root, "models", "etc"));
    expect(() => confineModel(where(), "models/etc/passwd", "m")).toThrow(/leads out/);
  });
});
