import { describe, expect, it } from "vitest";
import { differences, sampleFiles, samplesOf } from "../../helpers/sample-index.ts";
import { LM_STUDIO_READERS } from "./read-lm-studio.ts";
import { SERVER_READERS } from "./read-servers.ts";

const READERS = { ...SERVER_READERS, ...LM_STUDIO_READERS };
const SAMPLES = samplesOf("runner", ".");

describe.each(Object.keys(READERS))("%s", (tool) => {
  const samples = SAMPLES.filter((sample) => sample.tool === tool);

  it.each(samples.map((sample) => [sample.path, sample] as const))("%s", async (_path, sample) => {
    expect(await differences(sample, READERS[tool] ?? (() => ({})))).toEqual([]);
  });
});

describe("the index of samples", () => {
  it("names tools that are read, and every file", () => {
    expect(SAMPLES.filter(({ tool }) => !(tool in READERS)).map(({ path }) => path)).toEqual([]);
    expect(SAMPLES.map(({ path }) => path).sort()).toEqual(sampleFiles("runner", ".").sort());
  });

  it("expects something of every sample", () => {
    const empty = SAMPLES.filter(({ expected }) => "" in expected || !Object.keys(expected).length);
    expect(empty.map(({ path }) => path)).toEqual([]);
  });
});
