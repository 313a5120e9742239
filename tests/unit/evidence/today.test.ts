import { describe, expect, it } from "vitest";
import { EvidenceBook, deviceKey } from "../../../src/evidence/index.ts";
import { readBookEntries, type Rules } from "../../../src/evidence/book-entries.ts";
import { decide, type EvidenceEntry } from "../../../src/evidence/fast.ts";
import { DEFAULT_BOUNDS, type Bounds, type Sweep } from "../../../src/verdict/index.ts";
import { SAMPLE_CREATED_MS, sampleEvidence, sampleParts } from "../../helpers/sample-evidence.ts";
import { sampleLevel, sampleSweep } from "../../helpers/sample-sweep.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** Memory of the host in which 2, 4 and 8 slots were measured: 55, 62 and 73 % of it. */
const PEAKS_MB: Readonly<Record<number, number>> = { 2: 14_200, 4: 16_000, 8: 18_800 };

/** 8 recommended over 4 over 2; answers compared in so many segments at each. */
function steps(segments: Readonly<Record<number, number>>): Sweep {
  const sweep = sampleSweep();
  const levels = [
    sampleLevel(2, 1, 1.42, 60),
    sampleLevel(4, 2, 1.42, 70),
    sampleLevel(8, 4, 1.42, 80),
  ];
  for (const level of levels) {
    level.fidelity = { segments: segments[level.slots] ?? 64, structural_flips: 0, exact_flips: 0 };
    if (level.readings !== null) level.readings.host_used_peak_mb = PEAKS_MB[level.slots] ?? null;
    level.start.memory_loaded_mb = 12_000;
  }
  const ladder = sweep.ladder.slice(0, 1);
  if (sweep.baseline.readings !== null) sweep.baseline.readings.host_used_peak_mb = 13_000;
  return { ...sweep, ladder, levels, stop: "no more slots can be expected to gain" };
}

function entryOf(sweep: Sweep, today: Rules) {
  const state_dir = tempDir();
  const evidence = sampleEvidence(state_dir, { parts: sampleParts(sweep) });
  new EvidenceBook(state_dir, deviceKey(state_dir)).write(evidence);
  const [entry] = readBookEntries(state_dir, today).entries;
  if (entry === undefined) throw new Error("it is not in the book");
  return entry;
}

function entryUnder(bounds: Partial<Bounds>, segments: Readonly<Record<number, number>>) {
  const today = { bounds: { ...DEFAULT_BOUNDS, ...bounds }, text_answers: "same" } as const;
  return entryOf(steps(segments), today);
}

function answerFrom(entry: EvidenceEntry) {
  const model = { id: "gpt-oss:20b", digest: null };
  const live = {
    ok: true,
    facts: {
      version: "b7093",
      slots: 8,
      slots_source: "runner",
      slots_note: "it says so",
      context_per_slot: 8192,
      model,
    },
    held_s: null,
    trouble: null,
  } as const;
  return decide({
    declared: "measured",
    distrust: null,
    max_age_days: 30,
    now_ms: SAMPLE_CREATED_MS,
    clock_behind_ms: null,
    runner: { name: "local", kind: "llama-server" },
    live,
    expected: {},
    evidence: [entry],
    commits: false,
  });
}

describe("bounds of today that are tighter than those of the measurement", () => {
  const all = { 2: 64, 4: 64, 8: 64 };

  it("change nothing where everything stays inside them", () => {
    const entry = entryUnder({ memory_ceiling: 0.75 }, all);
    expect(entry).toMatchObject({ recommended: 8, judged: null });
    expect(answerFrom(entry).reason).toMatch(/^8 measured .*\(it says so\)$/);
  });

  it.each([
    [0.7, 4],
    [0.6, 2],
    [0.52, 1],
  ])("of %d of the memory leave the next number below that is proven: %d", (share, left) => {
    const entry = entryUnder({ memory_ceiling: share }, all);
    expect(entry).toMatchObject({ recommended: left, judged: { from: 8, unproven: false } });
    const { allowed, reason, wants_measurement } = answerFrom(entry);
    expect({ allowed, wants_measurement }).toEqual({ allowed: left, wants_measurement: false });
    const broken = left * 2;
    expect(reason).toMatch(
      new RegExp(
        `^${left} measured .*; the bounds of today are tighter than those of then, by which it was 8: ` +
          `.*${broken} slots broke a bound: memory of the host rose to .*the ceiling is ${share * 100} %`,
      ),
    );
  });

  it("skip a number whose answers were never proven, say so, and ask for a measurement", () => {
    const entry = entryUnder({ memory_ceiling: 0.7 }, { ...all, 4: 30 });
    expect(entry).toMatchObject({ recommended: 2, judged: { from: 8, unproven: true } });
    const { allowed, reason, wants_measurement } = answerFrom(entry);
    expect({ allowed, wants_measurement }).toEqual({ allowed: 2, wants_measurement: true });
    expect(reason).toContain("4 slots gave more output, but the answers are not proven");
    expect(reason).toContain("8 slots broke a bound: memory of the host");
  });

  it("that are looser give nothing back", () => {
    expect(entryUnder({ memory_ceiling: 0.95, swap_growth: 9 }, all).recommended).toBe(8);
  });
});

describe("what counts as the same answer today", () => {
  /** At 8 slots the words of 9 segments were others, in answers of the same kind. */
  function measuredBy(text_answers: "same" | "any" | undefined): Sweep {
    const sweep = steps({ 2: 64, 4: 64, 8: 64 });
    const { text_answers: _, ...method } = sweep.method;
    const last = sweep.levels.at(-1);
    if (last !== undefined) last.fidelity.exact_flips = 9;
    return { ...sweep, method: text_answers === undefined ? method : { ...method, text_answers } };
  }

  it.each(["any", undefined] as const)(
    "is stricter than then (%s): judged by the words",
    (then) => {
      const today = { bounds: DEFAULT_BOUNDS, text_answers: "same" } as const;
      const entry = entryOf(measuredBy(then), today);
      expect(entry).toMatchObject({ recommended: 4, judged: { from: 8 } });
      expect(answerFrom(entry).reason).toMatch(/^4 .*differ in 9 of 64 segments/);
    },
  );

  it.each([
    ["any", "any"],
    ["same", "same"],
    ["same", "any"],
  ] as const)("measured with %s and %s today: as it was judged then", (then, now) => {
    const entry = entryOf(measuredBy(then), { bounds: DEFAULT_BOUNDS, text_answers: now });
    expect(entry).toMatchObject({ recommended: 8, judged: null });
  });
});
