import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { deviceKey, verifyEvidence } from "../../../src/evidence/index.ts";
import { judge } from "../../../src/verdict/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { piece } from "../../helpers/fake-openai.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { testStation, type TestStation } from "../../helpers/station.ts";
import {
  virtualLlama,
  type VirtualLlama,
  type VirtualLlamaOptions,
} from "../../helpers/virtual-llama.ts";
import { calibrate, corpusFile, stateDir } from "./setting.ts";

// A server in production that is measured itself, through the whole program. Its requests take their
// time on a clock of their own, so that nothing depends on the speed of this machine.

type Setting = Partial<VirtualLlamaOptions> & { max_slots?: number };

const DAY_MS = 86_400_000;

async function attached(setting: Setting = {}) {
  const { max_slots = 2, ...server } = setting;
  const clock = server.clock ?? new FakeClock({ wall_ms: Date.now() });
  const llama = await virtualLlama({ slots: 4, ...server, clock });
  const policy = `slots: {max_slots: ${max_slots}}\nlocal_models: {model: fake}\nevidence: {commit: "off"}\n`;
  const station = testStation({ policy, machine: "" });
  const runner = {
    name: "house",
    kind: "llama-server",
    url: llama.url,
    calibrate_production: true,
  };
  const machine = { trusted_stations: [station.root], runners: [runner] };
  writeFileSync(station.machine_path, JSON.stringify(machine), { mode: 0o600 });
  const measure = (more: Parameters<typeof calibrate>[1] = {}) =>
    calibrate(station, { clock, ...more, wish: { max_tokens: 8, ...more.wish } });
  return { station, clock, llama, measure };
}

const chats = ({ requests }: VirtualLlama) =>
  requests.filter(({ path }) => path === "/v1/chat/completions");

/** The evidence that was written, after it has proven itself. */
function proven(station: TestStation, key: string | null) {
  const state_dir = stateDir(station);
  const text = readFileSync(join(state_dir, "evidence", `${key}.json`), "utf8");
  const { evidence, faults } = verifyEvidence(text, [deviceKey(state_dir)], judge);
  expect(faults).toEqual([]);
  if (evidence === null) throw new Error("it is not readable");
  return evidence;
}

function noEvidence(station: TestStation): void {
  expect(existsSync(join(stateDir(station), "evidence"))).toBe(false);
}

test("a whole sweep on the server in production, which is neither started nor stopped", async () => {
  const { station, llama, measure } = await attached({ max_slots: 8 });
  const wish = { production_sampling: { temperature: 0.7 } };
  const { outcome } = await measure({ wish });
  expect(outcome.verdict).toMatchObject({ recommended: 4, max_safe: 4, first_breach: null });
  // It has 4 slots, so no more were tried, and its context is the one that counts.
  expect(llama.most()).toBe(4);
  const { sweep, identity } = proven(station, outcome.key);
  expect(sweep.method).toMatchObject({ residency: "attached", max_slots: 4, cold: "nonce" });
  expect(identity).toMatchObject({
    context_per_slot: 1024,
    runner: { kind: "llama-server", version: "b1-virtual" },
    kv_type: null,
  });
  expect(sweep.levels.map(({ slots, start_arm }) => [slots, start_arm.length])).toEqual([
    [2, 0],
    [4, 0],
  ]);
  expect(sweep.levels[1]?.fidelity.segments).toBeGreaterThanOrEqual(59);
  // Beside it, and judged by nobody: the same number with answers drawn as in production.
  expect(sweep.production_sampling).toMatchObject({ slots: 4, temperature: 0.7, note: "" });
  expect(sweep.production_sampling?.blocks).toHaveLength(3);
  const sent = chats(llama).map(({ body }) => body ?? {});
  const drawn = sent.filter(({ temperature }) => temperature === 0.7);
  expect(drawn.length).toBeGreaterThan(3 * 4 * 3);
  for (const body of drawn) expect(body).not.toHaveProperty("seed");
  for (const body of sent.filter((one) => !drawn.includes(one))) {
    expect(body).toMatchObject({ temperature: 0, seed: 42, cache_prompt: false });
  }
}, 120_000);

test("the weights that the server names are in the evidence, as `slots allowed` looks for them", async () => {
  const model_path = join(tempDir(), "weights.gguf");
  writeFileSync(model_path, "weights");
  const { station, measure } = await attached({ model_path });
  const { outcome } = await measure();
  expect(proven(station, outcome.key).identity.model).toMatchObject({
    digest: sha256Hex("weights"),
    digest_source: "file",
  });
}, 120_000);

test("a server that claims 4 slots and works on one request at a time: 1", async () => {
  const { station, measure } = await attached({ works: 1, max_slots: 4 });
  const { outcome, lines } = await measure();
  expect(outcome.verdict).toMatchObject({ recommended: 1, first_breach: { bound: "slots" } });
  expect(outcome.verdict?.first_breach?.reason).toBe("2 slots were asked for and 1 given");
  expect(lines.join("\n")).toContain("never worked on more than 1 of 2 requests at once");
  proven(station, outcome.key);
}, 120_000);

test("streams without an end while two are busy: a breach at 2", async () => {
  const answer = (_: unknown, busy: number) =>
    busy < 2
      ? undefined
      : {
          headers: { "content-type": "text/event-stream" },
          steps: [{ write: piece({ content: "half of an ans" }) }],
        };
  const { station, measure } = await attached({ answer });
  const { outcome } = await measure();
  const { verdict, key } = outcome;
  expect(verdict).toMatchObject({ recommended: 1, first_breach: { slots: 2 } });
  expect(verdict?.first_breach?.reason).toMatch(/\d+ turns ended without a finish/);
  proven(station, key);
}, 120_000);

test("memory that climbs past the ceiling while two are busy: a breach at 2", async () => {
  let taken = 0;
  const answer = (_: unknown, busy: number) => void (taken += busy < 2 ? 0 : 1);
  const { station, measure } = await attached({ answer });
  const recorded = () => ({ host_used_peak_mb: 1000 + 900 * taken, host_total_mb: 8000 });
  const { outcome } = await measure({ recorded });
  expect(outcome.verdict).toMatchObject({
    recommended: 1,
    first_breach: { slots: 2, bound: "host_memory" },
  });
  expect(outcome.verdict?.first_breach?.reason).toContain(
    "of 8.0 GB; the ceiling is 80 % (6.4 GB)",
  );
  proven(station, outcome.key);
}, 120_000);

test("a server that dies with 3 busy and comes back: 2, and 3 is the first breach", async () => {
  const server: { llama?: VirtualLlama } = {};
  const answer = (_: unknown, busy: number) => void (busy < 3 || server.llama?.die(1));
  const { station, llama, measure } = await attached({ answer, max_slots: 4 });
  server.llama = llama;
  const { outcome } = await measure();
  expect(outcome.verdict).toMatchObject({
    result: "measured",
    recommended: 2,
    max_safe: 2,
    first_breach: { slots: 3, bound: "server" },
  });
  expect(outcome.verdict?.first_breach?.reason).toContain("the server was lost");
  proven(station, outcome.key);
}, 120_000);

test("a server that dies and stays away: not finished, which is no evidence about any number", async () => {
  const server: { llama?: VirtualLlama } = {};
  const answer = (_: unknown, busy: number) => void (busy < 4 || server.llama?.die(1e9));
  const { station, llama, measure } = await attached({ answer, max_slots: 4 });
  server.llama = llama;
  const { outcome } = await measure();
  expect(outcome).toMatchObject({ result: "incomplete", key: null });
  expect(outcome.stop).toContain("the server in production is gone");
  noEvidence(station);
}, 120_000);

test("another client on a slot in mid-step costs the block, and no more", async () => {
  const clock = new FakeClock({ wall_ms: Date.now() });
  const came = { answers: 0, at_ms: 0 };
  const answer = () => {
    came.answers += 1;
    if (came.answers === 5) came.at_ms = clock.monotonic_ms();
    return undefined;
  };
  const there = () => came.answers >= 5 && clock.monotonic_ms() < came.at_ms + 6000;
  const { station, measure } = await attached({ clock, answer, foreign: () => (there() ? 2 : 0) });
  const { outcome } = await measure();
  const { sweep } = proven(station, outcome.key);
  expect(sweep.baseline.discards).toHaveLength(1);
  expect(sweep.baseline.discards[0]?.reason).toContain("another client uses one");
  expect(outcome.verdict).toMatchObject({ recommended: 2 });
}, 120_000);

test("another model in mid-step: what is measured then does not count, and it is said", async () => {
  const server: { llama?: VirtualLlama; answered: number } = { answered: 0 };
  const answer = () => {
    server.answered += 1;
    if (server.answered === 5) server.llama?.serve("other");
    return undefined;
  };
  const { station, llama, measure } = await attached({ answer });
  server.llama = llama;
  const { outcome } = await measure();
  expect(outcome).toMatchObject({ result: "incomplete", key: null });
  expect(outcome.stop).toContain("another client loaded other");
  noEvidence(station);
}, 120_000);

test("prompts that one slot cannot hold are refused; those that two cannot hold are a breach at 2", async () => {
  const refusal = {
    status: 400,
    body: { error: { code: 400, type: "exceed_context_size_error", message: "too long" } },
  };
  const never = await attached({ answer: () => refusal });
  await expect(never.measure()).rejects.toMatchObject({ code: "context_too_small", exitCode: 3 });
  noEvidence(never.station);
  const shared = await attached({ answer: (_, busy) => (busy < 2 ? undefined : refusal) });
  const { outcome } = await shared.measure();
  expect(outcome.verdict).toMatchObject({
    result: "measured",
    recommended: 1,
    first_breach: { slots: 2, bound: "context" },
  });
  const { reason } = proven(shared.station, outcome.key).verdict;
  expect(reason).toMatch(/2 slots broke a bound: \d+ turns? (is|are) longer than the 1024 tokens/);
}, 120_000);

test("a context or a model that the server does not have is refused at once, and nothing is sent", async () => {
  const { station, llama, measure } = await attached();
  await expect(measure({ wish: { context_per_slot: 64 } })).rejects.toMatchObject({
    code: "other_context",
    exitCode: 3,
    message: 'runner "house" has 1024 tokens of context a slot, not 64: it is measured as it is',
  });
  await expect(measure({ wish: { context_per_slot: 4096 } })).rejects.toMatchObject({
    code: "other_context",
  });
  await expect(measure({ wish: { model: "zzz" } })).rejects.toMatchObject({
    code: "other_model",
    exitCode: 3,
    message: 'runner "house" does not serve "zzz": it serves fake',
  });
  expect(chats(llama)).toEqual([]);
  noEvidence(station);
}, 60_000);

test("out of time it goes on later; on day 31, or after the clock was set back, it measures anew", async () => {
  for (const later of ["now", "day 31", "set back"] as const) {
    const { station, clock, llama, measure } = await attached();
    const wish = { corpus: corpusFile(station.home) };
    const first = await measure({ wish: { ...wish, budget_s: 60 } });
    expect(first.outcome).toMatchObject({ result: "incomplete", stop: "the time allowed ran out" });
    noEvidence(station);
    const before = chats(llama).length;
    if (later === "day 31") clock.advance(31 * DAY_MS);
    if (later === "set back") clock.stepWall(-2 * DAY_MS);
    const again_ms = clock.now_ms();
    const { outcome, lines } = await measure({ wish });
    expect(outcome.result).toBe("measured");
    expect(chats(llama).length).toBeGreaterThan(before);
    const anew = later !== "now";
    expect(lines.includes("loading with 1 slot")).toBe(anew);
    const { oldest_measured } = proven(station, outcome.key);
    expect(Date.parse(oldest_measured) >= again_ms).toBe(anew);
    expect(readdirSync(join(stateDir(station), "checkpoints"))).toEqual([]);
  }
}, 240_000);
