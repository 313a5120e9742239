import { describe, expect, it } from "vitest";
import { differences, sampleFiles, samplesOf } from "../../helpers/sample-index.ts";
import { SERVICE_READERS } from "../daemon/service/read-services.ts";
import { GPU_READERS } from "./read-gpu.ts";
import { LINUX_READERS } from "./read-linux.ts";
import { MACOS_READERS } from "./read-macos.ts";

const READERS = { ...LINUX_READERS, ...MACOS_READERS, ...GPU_READERS, ...SERVICE_READERS };
const SAMPLES = samplesOf("probes");

describe.each(Object.keys(READERS))("%s", (tool) => {
  const samples = SAMPLES.filter((sample) => sample.tool === tool);

  it.each(samples.map((sample) => [sample.path, sample] as const))("%s", async (_path, sample) => {
    expect(await differences(sample, READERS[tool] ?? (() => ({})))).toEqual([]);
  });
});

describe("the index of samples", () => {
  it("names tools that are read, and every file", () => {
    expect(SAMPLES.filter(({ tool }) => !(tool in READERS)).map(({ path }) => path)).toEqual([]);
    expect(SAMPLES.map(({ path }) => path).sort()).toEqual(sampleFiles("probes").sort());
  });

  it("expects something of every sample", () => {
    const empty = SAMPLES.filter(({ expected }) => "" in expected || !Object.keys(expected).length);
    expect(empty.map(({ path }) => path)).toEqual([]);
  });

  it("notices a value that differs, and one that is not read", async () => {
    const sample = { path: "x", tool: "y", text: "", expected: { a: "0x4", b: "1.50", c: "null" } };
    expect(await differences(sample, () => ({ a: 4, b: 1.5, c: null }))).toEqual([]);
    expect(await differences(sample, () => ({ a: 5, b: "1.5" }))).toEqual([
      "a: 0x4 expected, 5 read",
      "b: 1.50 expected, 1.5 read",
      "c: null expected, undefined read",
    ]);
  });
});
