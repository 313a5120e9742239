import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import {
  deviceKey,
  evidenceKey,
  evidenceText,
  makeEvidence,
  verifyEvidence,
  withoutPrivateThings,
  type Evidence,
  type EvidenceParts,
} from "../../../src/evidence/index.ts";
import { privacyFaults } from "../../../src/evidence/privacy.ts";
import { readPublicKey, signedText } from "../../../src/evidence/light.ts";
import { DEFAULT_BOUNDS, judge } from "../../../src/verdict/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { NOBODY, sampleEvidence, sampleParts } from "../../helpers/sample-evidence.ts";
import { minute, sampleLevel, sampleSweep } from "../../helpers/sample-sweep.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** Signs anything, as a device that lies would. */
function signedAnyway(state_dir: string, evidence: Evidence): string {
  const device = deviceKey(state_dir);
  const key = evidenceKey(evidence.identity);
  const unsigned = { ...evidence, key };
  return evidenceText({ ...unsigned, signature: device.sign(signedText(unsigned)) });
}

function make(parts: EvidenceParts, things = NOBODY) {
  const device = deviceKey(tempDir());
  const clock = new FakeClock({ wall_ms: Date.UTC(2026, 0, 10, 10, 5) });
  return makeEvidence(parts, { device, private_things: things, clock });
}

describe("makeEvidence", () => {
  it("holds what it was given, and counts age from the oldest step", () => {
    const evidence = make(sampleParts());
    expect(evidence).toMatchObject({
      schema: "touchstoned/slot-evidence/1",
      oldest_measured: minute(0),
      created: "2026-01-10T10:05:00.000Z",
      conditions: { power: "ac" },
      raw: { runs: [{ name: "turns.jsonl" }] },
    });
    expect(evidence.key).toBe(evidenceKey(evidence.identity));
  });

  it("keeps conditions out of the key, and everything of the identity in it", () => {
    const state_dir = tempDir();
    const parts = sampleParts();
    const { key } = sampleEvidence(state_dir, { parts });
    const hot = {
      ...parts,
      conditions: { power: "battery", thermal: "serious", load: 9 },
    } as const;
    expect(sampleEvidence(state_dir, { parts: hot }).key).toBe(key);
    for (const name of Object.keys(parts.identity) as (keyof typeof parts.identity)[]) {
      if (["runner", "model", "context_per_slot"].includes(name)) continue;
      const other = { ...parts, identity: { ...parts.identity, [name]: null } };
      expect(sampleEvidence(state_dir, { parts: other }).key, name).not.toBe(key);
    }
  });

  it("is no evidence while the sweep is not complete, or where it is too noisy", () => {
    const parts = sampleParts();
    const half = { ...parts, sweep: { ...parts.sweep, complete: false } };
    expect(() => make(half)).toThrow(/a sweep that is incomplete is not evidence/);
    const noisy = { ...parts, verdict: { ...parts.verdict, result: "too_noisy" as const } };
    expect(() => make(noisy)).toThrow(/a sweep that is too noisy is not evidence/);
  });

  it("stays below 64 KiB for the longest sweep that there is, and says so beyond", () => {
    const sweep = sampleSweep();
    const long = (slots: number) => {
      const level = sampleLevel(slots, 1, 1.4, 60 + slots);
      return {
        ...level,
        blocks: Array.from({ length: 12 }, (_, i) => level.blocks[i % 6] ?? level.blocks[0]),
      };
    };
    const eight = { ...sweep, levels: [2, 3, 4, 5, 6, 7, 8].map(long) } as typeof sweep;
    const parts = { ...sampleParts(), sweep: eight, verdict: judge(eight, DEFAULT_BOUNDS) };
    const size = evidenceText(make(parts)).length;
    expect(size).toBeLessThan(48 * 1024);
    const notes = Array.from(
      { length: 900 },
      (_, i) => `note ${i} on what was drawn, and from where`,
    );
    const wordy = { ...eight, corpus: { ...eight.corpus, notes } };
    expect(() => make({ ...parts, sweep: wordy })).toThrow(
      /would have \d+ bytes; 65535 is the limit/,
    );
  });
});

describe("verifyEvidence", () => {
  const setting = () => {
    const state_dir = tempDir();
    return { state_dir, evidence: sampleEvidence(state_dir), keys: [deviceKey(state_dir)] };
  };

  it("finds nothing wrong with what was written", () => {
    const { evidence, keys } = setting();
    expect(verifyEvidence(evidenceText(evidence), keys)).toMatchObject({ ok: true, faults: [] });
  });

  it("finds that a number does not follow from the blocks, though the device signed it", () => {
    const { state_dir, evidence, keys } = setting();
    const lie = { ...evidence, verdict: { ...evidence.verdict, recommended: 3, max_safe: 3 } };
    const { ok, faults } = verifyEvidence(signedAnyway(state_dir, lie), keys);
    expect(ok).toBe(false);
    expect(faults).toEqual([
      "its verdict does not follow from the recorded blocks: recommended differs (recorded 3, follows 2)",
    ]);
  });

  it("judges by the bounds that were used, not by today's", () => {
    const parts = sampleParts();
    const bounds = { ...DEFAULT_BOUNDS, memory_ceiling: 0.6 };
    const state_dir = tempDir();
    const strict = { ...parts, verdict: judge(parts.sweep, bounds) };
    const evidence = sampleEvidence(state_dir, { parts: strict });
    expect(evidence.verdict.recommended).toBe(1);
    expect(verifyEvidence(evidenceText(evidence), [deviceKey(state_dir)]).ok).toBe(true);
  });

  it("lets the last digits of a number be another machine's", () => {
    const { evidence, keys } = setting();
    const judged = judge(evidence.sweep, evidence.verdict.bounds);
    const level = judged.levels[1];
    if (level !== undefined) level.ratio = (level.ratio ?? 0) * (1 + 1e-13);
    expect(verifyEvidence(evidenceText(evidence), keys, () => judged).ok).toBe(true);
    if (level !== undefined) level.ratio = (level.ratio ?? 0) * 1.001;
    expect(verifyEvidence(evidenceText(evidence), keys, () => judged).faults[0]).toMatch(/levels/);
  });

  it.each([
    ["an age that was made younger", { oldest_measured: minute(90) }, /oldest_measured is not/],
    ["a date before its last step", { created: minute(30) }, /created before its last step/],
  ])("refuses %s", (_what, change, fault) => {
    const { state_dir, evidence, keys } = setting();
    const { faults } = verifyEvidence(signedAnyway(state_dir, { ...evidence, ...change }), keys);
    expect(faults).toEqual([expect.stringMatching(fault)]);
  });

  it("refuses a sweep that is not complete, whoever signed it", () => {
    const { state_dir, evidence, keys } = setting();
    const half = { ...evidence.sweep, complete: false };
    const lie = { ...evidence, sweep: half, verdict: judge(half, DEFAULT_BOUNDS) };
    const { faults } = verifyEvidence(signedAnyway(state_dir, lie), keys);
    expect(faults).toEqual(["its sweep is not complete: it is not evidence"]);
  });

  it("names the places that have not the right form", () => {
    const { state_dir, evidence, keys } = setting();
    const odd = { ...evidence, extra: 1, conditions: { ...evidence.conditions, power: "solar" } };
    const { faults, evidence: read } = verifyEvidence(
      signedAnyway(state_dir, odd as unknown as Evidence),
      keys,
    );
    expect(read).toBeNull();
    expect(faults.join("\n")).toMatch(/conditions\.power: /);
    expect(faults.join("\n")).toMatch(/extra/);
  });

  it("says so where blocks cannot be judged at all", () => {
    const { evidence, keys } = setting();
    const broken = () => {
      throw new RangeError("no sound block");
    };
    const { faults } = verifyEvidence(evidenceText(evidence), keys, broken);
    expect(faults).toEqual(["its recorded blocks cannot be judged: no sound block"]);
  });
});

describe("privacy", () => {
  const prompt = "You are a careful gardener who waters the tomatoes every single morning.";
  const things = { ...NOBODY, prompts: [prompt] };

  it.each([
    ["model: /home/anna/models/x.gguf", "a path"],
    ["open /var/lib/models/x.gguf: denied", "a path"],
    ["at C:\\Users\\anna\\x.gguf", "a path"],
    ["file:///srv/models/x.gguf", "a path"],
    ["~/models/x.gguf", "a path"],
    ["measured by Anna", "the user's name"],
    ["ran on birch", "the host's name"],
    ["birch.local said no", "the host's name"],
    ["it says a careful gardener who waters the tomatoes too", "words of a prompt"],
  ])("finds what is private in %j", (text, what) => {
    expect(privacyFaults({ note: text }, things)).toEqual([`note: ${what}`]);
  });

  it.each([
    "28.4 tokens/s, 170 turns/h",
    "org/model-name:20b",
    "annabel and birchwood are words of their own",
    "https is no path: see evidence/README",
    sha256Hex("anna"),
    "+41 % over 1 slot (+40 % to +42 %), inside every bound",
  ])("lets %j be", (text) => {
    expect(privacyFaults({ note: text }, things)).toEqual([]);
  });

  it("lets the maker's and the distribution's names be, whoever is called so", () => {
    const identity = { hardware: "Apple", processor: "Apple M5", os_release: "Debian 13" };
    expect(privacyFaults({ identity }, { ...things, user: "apple", host: "debian" })).toEqual([]);
    const path = { identity: { hardware: "/home/apple/x" } };
    expect(privacyFaults(path, things)).toEqual(["identity.hardware: a path"]);
  });

  it("does not look for names that are too short to mean anybody", () => {
    expect(privacyFaults({ note: "a1 is in" }, { ...things, user: "a1", host: "in" })).toEqual([]);
  });

  it("keeps evidence with it from being written", () => {
    const parts = sampleParts();
    const model = { ...parts.identity.model, id: "/home/anna/models/x.gguf" };
    const leaking = { ...parts, identity: { ...parts.identity, model } };
    expect(() => make(leaking, things)).toThrow(/not written.*identity\.model\.id: a path/);
  });

  it("is taken out of other programs' messages", () => {
    const said = "birch: cannot open '/home/anna/models/x.gguf' for user anna: no such file";
    const clean = withoutPrivateThings(said, things);
    expect(clean).toBe("<host>: cannot open '<x.gguf>' for user <user>: no such file");
    expect(privacyFaults({ clean }, things)).toEqual([]);
  });
});

describe("a document of an earlier version", () => {
  const file = (name: string): string =>
    readFileSync(join(import.meta.dirname, "../../fixtures/evidence", name), "utf8");
  const keys = [readPublicKey(file("earlier.pub"))];

  it("still proves itself by the intervals that it was written with", () => {
    const { ok, faults, evidence } = verifyEvidence(file("earlier.json"), keys, judge);
    expect(faults).toEqual([]);
    expect(ok).toBe(true);
    // What is said differently now: given up, beside an interval that knew nothing of that.
    expect(evidence?.verdict.reason).toContain("(-74 % to +289 %)");
    expect(evidence?.verdict.levels[1]?.warnings).toContain("a gain of 20 % is ruled out");
  });

  it("is judged by its own method, and would be told otherwise by today's", () => {
    const { evidence } = verifyEvidence(file("earlier.json"), keys, judge);
    const { sweep, verdict } = evidence ?? {};
    if (sweep === undefined || verdict === undefined) throw new Error("it is not readable");
    const method = { ...sweep.method, intervals: "decision" as const };
    const today = judge({ ...sweep, method }, verdict.bounds);
    expect(today).toMatchObject({ result: "measured", recommended: verdict.recommended });
    expect(today.levels[1]?.ratio_high).toBeLessThan(1.2);
  });
});
