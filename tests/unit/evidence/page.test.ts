import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commitMessage, evidenceMarkdown, evidenceSvg } from "../../../src/evidence/index.ts";
import { tickStep } from "../../../src/evidence/chart.ts";
import { amount, points } from "../../../src/evidence/figures.ts";
import { DEFAULT_BOUNDS, judge, type Sweep } from "../../../src/verdict/index.ts";
import { sampleEvidence, sampleParts } from "../../helpers/sample-evidence.ts";
import { sampleSweep } from "../../helpers/sample-sweep.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/evidence");

/** The sample without what differs between two runs of the tests. */
function steady(sweep: Sweep = sampleSweep()) {
  const evidence = sampleEvidence(tempDir(), { parts: sampleParts(sweep) });
  const identity = { ...evidence.identity, device_key: "0a1b".repeat(16) };
  return { ...evidence, identity, key: "c4d5".repeat(16), touchstoned: "0.0.0" };
}

/** A sweep whose answer is 1: two slots gain too little. */
function flatSweep(): Sweep {
  const sweep = sampleSweep();
  const [level] = sweep.levels;
  const blocks = sweep.baseline.blocks;
  return {
    ...sweep,
    ladder: sweep.ladder.slice(0, 2),
    levels:
      level === undefined ? [] : [{ ...level, blocks: structuredClone([...blocks, ...blocks]) }],
    stop: "two levels gained too little",
  };
}

/** Two slots were given up after two blocks that lie apart, by the noise at one slot. */
function givenUp(): Sweep {
  const sweep = flatSweep();
  for (const level of sweep.levels) {
    level.blocks = level.blocks.slice(0, 2);
    for (const [at, block] of level.blocks.entries()) {
      const [a, , , d] = block.busy_s;
      const factor = at === 0 ? 0.99 : 1.09;
      block.busy_s = [a, a / factor, d / factor, d];
    }
    level.start_arm = [];
    level.ended = "a gain of 20 % is ruled out";
  }
  return sweep;
}

describe("the page and the chart", () => {
  it("are what was looked at by a person", async () => {
    const evidence = steady();
    await expect(evidenceMarkdown(evidence, "sample.svg")).toMatchFileSnapshot(
      join(FIXTURES, "sample.md"),
    );
    await expect(evidenceSvg(evidence)).toMatchFileSnapshot(join(FIXTURES, "sample.svg"));
  });

  it("do not call answers that were never compared unchanged", () => {
    const sweep = sampleSweep();
    sweep.baseline.self_agreement = { segments: 0, structural_flips: 0, exact_flips: 0 };
    const page = evidenceMarkdown(steady(sweep), "sample.svg");
    expect(page).toMatch(/^\| One slot against itself \| not compared +\|$/m);
    expect(page).not.toContain("0 of 0");
  });

  it("say one slot where nothing gains", async () => {
    const evidence = steady(flatSweep());
    expect(evidence.verdict.recommended).toBe(1);
    const page = evidenceMarkdown(evidence, "flat.svg");
    expect(page).toMatch(/^# 1 slot: gpt-oss:20b on Mac17,2$/m);
    expect(page).toContain("Ended by: two levels gained too little.");
    expect(page).toContain("gains too little");
    await expect(evidenceSvg(evidence)).toMatchFileSnapshot(join(FIXTURES, "flat.svg"));
  });

  it("show the interval by which a level was given up, in text and picture", () => {
    const evidence = steady(givenUp());
    const level = evidence.verdict.levels.find(({ slots }) => slots === 2);
    const { ratio = null, ratio_high = null, tokens_per_s = null } = level ?? {};
    expect(level?.warnings).toContain("a gain of 20 % is ruled out");
    expect(ratio_high).toBeLessThan(1.2);
    const page = evidenceMarkdown(evidence, "flat.svg");
    const [, high] = /% to \+([\d.]+) % \|/.exec(page) ?? [];
    expect(Number(high)).toBeLessThan(20);
    expect(page).toContain(evidence.verdict.reason);
    expect(evidence.verdict.reason).toContain(`to +${high} %`);
    const two = points(evidence.verdict).find(({ slots }) => slots === 2);
    expect(two?.high).toBeCloseTo(((tokens_per_s ?? 0) * (ratio_high ?? 0)) / (ratio ?? 1), 9);
  });

  it("report production sampling apart from what was judged", () => {
    const sweep = sampleSweep();
    const { blocks = [] } = sweep.levels[0] ?? {};
    const found = { slots: 2, temperature: 0.7, blocks: blocks.slice(0, 3), failed_turns: 1 };
    const evidence = steady({ ...sweep, production_sampling: { ...found, note: "" } });
    const page = evidenceMarkdown(evidence, "x.svg");
    expect(page).toContain("## Production sampling, not judged");
    expect(page).toMatch(
      /temperature 0\.7: 28\.\d tokens\/s with 2 slots busy, 2\d(\.\d)? with one \(\+4\d %\), 3 blocks, 1 failed turn$/m,
    );
    const bare = { ...found, temperature: null, blocks: [], note: "the server was lost" };
    const nothing = steady({ ...sweep, production_sampling: bare });
    expect(evidenceMarkdown(nothing, "x.svg")).toContain(
      "as the runner samples: not measured, 1 failed turn; the server was lost",
    );
    expect(nothing.verdict).toEqual(steady().verdict);
  });

  it("are short enough to be reviewed in a minute", () => {
    const words = evidenceMarkdown(steady(), "x.svg").split(/\s+/).length;
    expect(words).toBeLessThan(450);
  });

  it("are well-formed and harmless whatever a model is called", () => {
    const evidence = steady();
    const id = `<script>alert("x")</script>|[a](b)\n# &`;
    const odd = {
      ...evidence,
      identity: { ...evidence.identity, model: { ...evidence.identity.model, id } },
    };
    const svg = evidenceSvg(odd);
    expect(svg).not.toContain("<script");
    expect(svg.replaceAll(/&(?:amp|lt|gt|quot);/g, "")).not.toContain("&");
    expect(svg.match(/<text/g)?.length).toBe(svg.match(/<\/text>/g)?.length);
    const page = evidenceMarkdown(odd, "x.svg");
    expect(page).not.toContain("<script");
    expect(page.split("\n")[0]).toContain("# &");
  });

  it("say what is not known instead of leaving it out", () => {
    const evidence = steady();
    const identity = {
      ...evidence.identity,
      hardware: null,
      processor: null,
      accelerators: null,
      kv_type: null,
    };
    const page = evidenceMarkdown({ ...evidence, identity }, "x.svg");
    expect(page).toContain("a device without a name");
    expect(page).toMatch(/Accelerators +\| not known/);
    expect(page).toContain("KV not known");
    const none = { ...identity, accelerators: [] };
    expect(evidenceMarkdown({ ...evidence, identity: none }, "x.svg")).toMatch(
      /Accelerators +\| none/,
    );
  });

  it("can be drawn without a single measured level", () => {
    const sweep = { ...sampleSweep(), levels: [] };
    const bare = { ...sweep, baseline: { ...sweep.baseline, blocks: [], readings: null } };
    const verdict = judge(bare, DEFAULT_BOUNDS);
    const svg = evidenceSvg({ ...steady(), sweep: bare, verdict });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(evidenceMarkdown({ ...steady(), sweep: bare, verdict }, "x.svg")).not.toMatch(
      /NaN|Infinity|undefined/,
    );
  });
});

describe("figures", () => {
  it("puts the interval around the throughput, and the noise around one slot", () => {
    const found = points(judge(sampleSweep(), DEFAULT_BOUNDS));
    expect(found.map(({ slots, breach }) => [slots, breach])).toEqual([
      [1, null],
      [2, null],
      [3, "host memory"],
    ]);
    for (const { low, value, high } of found) {
      expect(low).toBeLessThan(value);
      expect(high).toBeGreaterThan(value);
    }
  });

  it.each([
    [null, "-"],
    [0.0412, "0.0412"],
    [28.345, "28.3"],
    [99.96, "100"],
    [1834.6, "1,835"],
  ])("writes %j as %s", (value, text) => {
    expect(amount(value)).toBe(text);
  });

  it.each([
    [40, 10],
    [33, 10],
    [7, 2],
    [0.3, 0.1],
    [1234, 500],
  ])("steps up to %d by %d", (top, step) => {
    expect(tickStep(top, 5)).toBeCloseTo(step, 9);
  });
});

describe("the commit message", () => {
  const entry = (previous: number | null) => ({
    name: "x.json",
    path: "evidence/0a1b0a1b0a1b0a1b/gpt-oss-20b/2026-01-10T10-05-00Z-c4d5c4d5",
    previous,
    public_pem: "",
    evidence: steady(),
  });

  it.each([
    [null, "Slots on 0a1b0a1b0a1b0a1b: 2 (first), gpt-oss:20b"],
    [1, "Slots on 0a1b0a1b0a1b0a1b: 1 -> 2, gpt-oss:20b"],
    [2, "Slots on 0a1b0a1b0a1b0a1b: 2 (as before), gpt-oss:20b"],
  ])("says what was before (%j) and what is now", (previous, subject) => {
    const lines = commitMessage(entry(previous)).split("\n");
    expect(lines[0]).toBe(subject);
    expect(lines[1]).toBe("");
    expect(lines).toContainEqual(
      expect.stringMatching(/^Why: .*host memory|^Why: .*memory of the host/),
    );
    expect(lines.slice(-3, -1)).toEqual([
      `Evidence-Key: ${"c4d5".repeat(16)}`,
      "Evidence-Path: evidence/0a1b0a1b0a1b0a1b/gpt-oss-20b/2026-01-10T10-05-00Z-c4d5c4d5.json",
    ]);
  });

  it("stays on its lines whatever a model is called", () => {
    const evil = entry(1);
    evil.evidence.identity.model.id = "a\n\nEvidence-Key: forged\u001B[2K";
    const message = commitMessage(evil);
    expect(message.match(/^Evidence-Key: /gm)).toHaveLength(1);
    expect(message).not.toContain("\u001B");
  });
});
