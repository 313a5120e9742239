import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  corpusSummary,
  loadCorpus,
  segmentsOf,
  turnMessages,
  writeCorpus,
} from "../../../src/calibrate/corpus.ts";
import { drawCorpus } from "../../../src/calibrate/corpus-draw.ts";
import { corpusSummarySchema } from "../../../src/verdict/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { conversation, OPTIONS, poolOf } from "./pools.ts";

const requests = Array.from({ length: 60 }, (_, i) =>
  conversation(`c${i} \u{1F600} \uD83D`, [10 + i * 3, 400]),
).flat();
const corpus = drawCorpus(poolOf(requests), { ...OPTIONS, segment_length: 2 });

describe("a corpus file", () => {
  it("holds whole characters only", () => {
    const text = corpus.segments[0]?.turns[0]?.messages[1]?.content ?? "";
    expect(text).toContain("\u{1F600} \uFFFD");
    expect(text.isWellFormed()).toBe(true);
  });

  it("comes back as it was written, for the owner's eyes only", () => {
    const path = join(tempDir(), "corpus.json");
    writeCorpus(path, corpus);
    expect(loadCorpus(path)).toEqual(corpus);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("has the same bytes each time and leaves nothing beside it", () => {
    const dir = tempDir();
    writeCorpus(join(dir, "a.json"), corpus);
    writeCorpus(
      join(dir, "b.json"),
      drawCorpus(poolOf(requests), { ...OPTIONS, segment_length: 2 }),
    );
    expect(readFileSync(join(dir, "b.json"))).toEqual(readFileSync(join(dir, "a.json")));
    expect(readdirSync(dir)).toEqual(["a.json", "b.json"]);
  });

  it("is refused after an edit of one letter", () => {
    const path = join(tempDir(), "corpus.json");
    writeCorpus(path, corpus);
    writeFileSync(path, readFileSync(path, "utf8").replace("answer 0", "answer 9"));
    expect(() => loadCorpus(path)).toThrow(/corpus\.json: was changed after it was drawn/);
  });

  it.each([
    ["half a file", '{"schema": "touchstoned/slot-corpus/1", "seed"', /not JSON/],
    ["another schema", '{"schema": "touchstoned/slot-corpus/2"}', /not a corpus.*schema/],
    ["a list", "[]", /not a corpus/],
  ])("is refused with its name: %s", (_, text, message) => {
    const path = join(tempDir(), "corpus.json");
    writeFileSync(path, text);
    expect(() => loadCorpus(path)).toThrow(message);
  });

  it("says how to make one where there is none", () => {
    expect(() => loadCorpus("/nowhere/corpus.json")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("slots corpus") }),
    );
  });
});

describe("what others see of a corpus", () => {
  it("is a summary that evidence can hold", () => {
    const summary = corpusSummary(corpus);
    expect(corpusSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({ segments: 60, turns: 120, segment_length: 2, seed: 1 });
    expect(summary.strata.reduce((sum, { segments }) => sum + segments, 0)).toBe(60);
    expect(summary.strata.reduce((sum, { pool_share }) => sum + pool_share, 0)).toBeCloseTo(1, 12);
    expect(JSON.stringify(summary)).not.toContain("asks");
  });

  it("is segments with turns that know their segment", () => {
    const segments = segmentsOf(corpus);
    expect(segments.map(({ id }) => id)).toEqual(corpus.segments.map(({ id }) => id));
    for (const { id, turns } of segments) {
      expect(turns.map(({ segment_id }) => segment_id)).toEqual([id, id]);
    }
  });

  it("is what to send for a turn", () => {
    const [segment] = corpus.segments;
    const turn = segment?.turns[1];
    expect(turnMessages(corpus, turn?.id ?? "").messages).toEqual(turn?.messages);
    expect(() => turnMessages(corpus, "r0.0")).toThrow(RangeError);
  });
});
