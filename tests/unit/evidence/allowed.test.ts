import { describe, expect, it } from "vitest";
import {
  decide,
  type AllowedInput,
  type EvidenceEntry,
  type LiveFacts,
} from "../../../src/evidence/fast.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 29, 12);

const IDENTITY = {
  device_key: "d".repeat(64),
  hardware: "Board 1",
  accelerators: "[]",
  "runner.kind": "llama-server",
  "runner.version": "b1",
  "model.id": "tiny",
  "model.digest": "a".repeat(64),
  context_per_slot: 2048,
  kv_type: "f16",
};

const FACTS: LiveFacts = {
  version: "b1",
  slots: 4,
  slots_source: "runner",
  slots_note: "it says so",
  context_per_slot: 2048,
  model: { id: "tiny", digest: "a".repeat(64) },
};

function entry(more: Partial<EvidenceEntry> = {}): EvidenceEntry {
  return {
    key: "k".repeat(64),
    sha256: "s".repeat(64),
    place: "evidence/one.json",
    identity: IDENTITY,
    faults: [],
    complete: true,
    result: "measured",
    recommended: 2,
    max_safe: 3,
    judged: null,
    created_ms: NOW_MS - 2 * DAY_MS,
    oldest_ms: NOW_MS - 3 * DAY_MS,
    committed: true,
    ...more,
  };
}

function input(more: Partial<AllowedInput> = {}, facts: Partial<LiveFacts> = {}): AllowedInput {
  return {
    declared: "measured",
    distrust: null,
    max_age_days: 30,
    now_ms: NOW_MS,
    clock_behind_ms: null,
    runner: { name: "local", kind: "llama-server" },
    live: { ok: true, facts: { ...FACTS, ...facts }, held_s: null, trouble: null },
    expected: IDENTITY,
    evidence: [entry()],
    commits: true,
    ...more,
  };
}

describe("the number", () => {
  it.each([
    ["what is recommended, where the runner has more", "measured", 4, 2],
    ["what the runner has, where more is recommended", "measured", 1, 1],
    ["a declared number below both", 2, 4, 2],
    ["what is recommended, where more is declared", 8, 8, 2],
    ["1, where 1 is declared", 1, 4, 1],
  ] as const)("is %s", (_, declared, slots, allowed) => {
    expect(decide(input({ declared }, { slots })).allowed).toBe(allowed);
  });

  it("comes with where it is from", () => {
    const decision = decide(input());
    expect(decision.reason).toBe(
      "2 measured 3 days ago (evidence kkkkkkkk), the runner has 4 slots (it says so)",
    );
    expect(decision.notes).toEqual([
      "the runner keeps memory for 4 slots, and 2 can be used with gain",
    ]);
    expect(decision).toMatchObject({ refused: false, wants_measurement: false });
  });

  it("says what to do where the runner has fewer slots than could be used", () => {
    const { notes, allowed } = decide(input({}, { slots: 1 }));
    expect(allowed).toBe(1);
    expect(notes[0]).toContain("`touchstoned slots apply 2`");
  });

  it("says that slots are only declared", () => {
    const declared = { slots_source: "declared", slots_note: "declared in machine.yaml" } as const;
    expect(decide(input({}, declared)).reason).toContain("(declared in machine.yaml)");
  });

  it("says where it cannot be read how the server was started", () => {
    const reason = "its process is another user's";
    const { allowed, reason: said } = decide(input({}, { serving: { ok: false, reason } }));
    expect(allowed).toBe(2);
    expect(said).toContain(
      "its KV type, flash attention and batch cannot be read (its process is another user's), so what machine.yaml says of them counts",
    );
    const options = { kv_type: "f16", flash_attention: null, batch: null };
    expect(decide(input({}, { serving: { ok: true, options } })).reason).not.toContain("KV type");
  });

  it("says that evidence is not committed yet, where it is to be", () => {
    const waiting = [entry({ committed: false })];
    expect(decide(input({ evidence: waiting })).notes).toContain(
      "the evidence is not committed yet",
    );
    expect(decide(input({ evidence: waiting, commits: false })).notes).not.toContain(
      "the evidence is not committed yet",
    );
  });

  it("is that of the newest evidence that fits", () => {
    const evidence = [
      entry({ recommended: 4, created_ms: NOW_MS - 9 * DAY_MS }),
      entry({ recommended: 3 }),
      entry({ recommended: 8, identity: { ...IDENTITY, hardware: "Board 2" }, created_ms: NOW_MS }),
    ];
    expect(decide(input({ evidence })).allowed).toBe(3);
  });

  it("refuses a declared number exactly where less is granted", () => {
    expect(decide(input({ declared: 2 })).refused).toBe(false);
    expect(decide(input({ declared: 3 })).refused).toBe(true);
    expect(decide(input({ declared: 2, evidence: [] })).refused).toBe(true);
    expect(decide(input({ declared: "measured", evidence: [] })).refused).toBe(false);
  });

  it("holds over a hiccup of the runner, and says so", () => {
    const live = { ok: true, facts: FACTS, held_s: 42, trouble: "no answer within 1 s" } as const;
    const { allowed, notes } = decide(input({ live }));
    expect(allowed).toBe(2);
    expect(notes.at(-1)).toBe("no answer within 1 s; what it said 42 s ago still counts");
  });
});

describe("1, with a wish to measure,", () => {
  it.each<[string, Partial<AllowedInput>, string]>([
    ["where nothing was measured", { evidence: [] }, "never measured here: tiny with llama-server"],
    [
      "where only another model was",
      { evidence: [entry({ identity: { ...IDENTITY, "model.id": "x", "model.digest": "b" } })] },
      "never measured here",
    ],
    [
      "on day 31",
      { evidence: [entry({ oldest_ms: NOW_MS - 31 * DAY_MS })] },
      "its oldest measurement is 31 days old; 30 is the limit",
    ],
    [
      "where the policy's limit is shorter",
      { max_age_days: 2 },
      "its oldest measurement is 3 days old; 2 is the limit",
    ],
    [
      "where it is dated in the future",
      { evidence: [entry({ created_ms: NOW_MS + 3_600_000 })] },
      "the clock was set back, or its date is wrong",
    ],
    ["where its dates mean nothing", { evidence: [entry({ oldest_ms: Number.NaN })] }, "dates"],
    [
      "where the clock was set back since",
      { clock_behind_ms: NOW_MS + 5 * DAY_MS },
      "the clock was set back: it showed 2026-12-04T12:00:00.000Z before",
    ],
    ["where it was edited", { evidence: [entry({ faults: ["it was edited"] })] }, "it was edited"],
    [
      "where a broken one is all there is",
      { evidence: [entry({ identity: {}, faults: ["it is not a JSON document"] })] },
      "evidence/one.json: it is not a JSON document",
    ],
    ["where the sweep is not whole", { evidence: [entry({ complete: false })] }, "not complete"],
    ["where it was too noisy", { evidence: [entry({ result: "too_noisy" })] }, "too noisy"],
    ["where it has another result", { evidence: [entry({ result: "incomplete" })] }, "incomplete"],
    [
      "where it is of another device",
      { expected: { ...IDENTITY, device_key: "e".repeat(64) } },
      "it is evidence of another device",
    ],
    [
      "where the runner was upgraded",
      { expected: { ...IDENTITY, "runner.version": "b2" } },
      "the runner's version was b1 and is b2",
    ],
    [
      "where a digest cannot be told now",
      { expected: { ...IDENTITY, "model.digest": null } },
      "the model's digest cannot be told now (measured: aaaaaaaaaaaa...)",
    ],
    [
      "where the KV cache has another type",
      { expected: { ...IDENTITY, kv_type: "q8_0" } },
      "the type of the KV cache was f16 and is q8_0",
    ],
    [
      "where the context of a slot is another",
      { expected: { ...IDENTITY, context_per_slot: 512 } },
      "the context of a slot was 2048 and is 512",
    ],
  ])("%s", (_, more, reason) => {
    const decision = decide(input(more));
    expect(decision).toMatchObject({ allowed: 1, wants_measurement: true });
    expect(decision.reason).toContain(reason);
  });
});

describe("1, without a wish to measure,", () => {
  it.each<[string, Partial<AllowedInput>, string]>([
    ["where 1 is declared, whatever was measured", { declared: 1 }, "so nothing was asked"],
    ["where the station is not trusted", { distrust: "not listed" }, "not trusted: not listed"],
    [
      "where the runner cannot be read",
      { live: { ok: false, reason: "/props: status 500", hint: "Look at it." } },
      "what runner local has cannot be read: /props: status 500",
    ],
  ])("%s", (_, more, reason) => {
    const decision = decide(input(more));
    expect(decision).toMatchObject({ allowed: 1, wants_measurement: false, evidence: null });
    expect(decision.reason).toContain(reason);
  });

  it("tells what to do about a runner that cannot be read", () => {
    const live = { ok: false, reason: "refused", hint: "Start it." } as const;
    expect(decide(input({ live })).notes).toEqual(["Start it."]);
  });
});
