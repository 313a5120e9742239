import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyEvidence, deviceKey } from "../../../src/evidence/index.ts";
import { judge } from "../../../src/verdict/index.ts";
import { fakeOllama } from "../../helpers/fake-ollama.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { calibrate, ollamaStation, stateDir } from "./setting.ts";

test("a model that does not load at 2 slots is evidence for 1, with the reason", async () => {
  const station = ollamaStation({ fake: { dies_at: 2 } });
  const { outcome, lines } = await calibrate(station);
  expect(outcome).toMatchObject({
    result: "measured",
    runner: "house",
    model: "tiny",
    verdict: { recommended: 1, max_safe: 1, first_breach: { slots: 2, bound: "load" } },
  });
  expect(lines.join("\n")).toContain("with 2 slots the model did not load");
  const state_dir = stateDir(station);
  const text = readFileSync(join(state_dir, "evidence", `${outcome.key}.json`), "utf8");
  const { evidence, faults } = verifyEvidence(text, [deviceKey(state_dir)], judge);
  expect(faults).toEqual([]);
  expect(evidence?.identity).toMatchObject({
    runner: { kind: "ollama", version: "0.99.0" },
    model: { id: "tiny", digest: "a".repeat(64), digest_source: "runner" },
    context_per_slot: 512,
    cache: "nonce",
  });
  // What became evidence is no checkpoint any more: the next one measures anew.
  expect(existsSync(join(state_dir, "checkpoints"))).toBe(true);
  expect(readdirSync(join(state_dir, "checkpoints"))).toEqual([]);
});

test("an Ollama that falls back to one slot without a word: its log says so, the answer is 1", async () => {
  const { outcome } = await calibrate(ollamaStation({ fake: { slots: 1 } }));
  expect(outcome.verdict).toMatchObject({
    recommended: 1,
    first_breach: { slots: 2, bound: "slots" },
  });
});

test("slots that cannot be read are no slots", async () => {
  const { outcome } = await calibrate(ollamaStation({ fake: { silent: true } }));
  expect(outcome.verdict).toMatchObject({ recommended: 1, first_breach: { slots: 2 } });
  expect(outcome.verdict?.first_breach?.reason).toMatch(/cannot be read|not/);
});

test("memory past the ceiling while it is loaded with 2 slots: the answer is 1", async () => {
  // Two looks a start: at rest and loaded. From the second start on memory is nearly full.
  const recorded = (looks: number) => ({ host_used_peak_mb: looks <= 2 ? 1000 : 7900 });
  const { outcome } = await calibrate(ollamaStation(), { recorded });
  expect(outcome.verdict).toMatchObject({
    recommended: 1,
    first_breach: { slots: 2, bound: "host_memory" },
  });
});

test("the measured Ollama sees no key of ours, and all that it is given", async () => {
  process.env["TEST_API_TOKEN"] = "secret";
  process.env["OLLAMA_FLASH_ATTENTION"] = "1";
  const station = ollamaStation();
  const environment = join(station.home, "environment.json");
  const again = ollamaStation({ fake: { dies_at: 1, environment } });
  const { outcome } = await calibrate(again);
  delete process.env["TEST_API_TOKEN"];
  delete process.env["OLLAMA_FLASH_ATTENTION"];
  expect(outcome).toMatchObject({ result: "incomplete" });
  expect(outcome.stop).toContain("does not load with one slot");
  const seen = JSON.parse(readFileSync(environment, "utf8")) as Record<string, string>;
  expect(seen).toMatchObject({
    OLLAMA_NUM_PARALLEL: "1",
    OLLAMA_MAX_LOADED_MODELS: "1",
    OLLAMA_NOPRUNE: "true",
    OLLAMA_HOST: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
  expect(seen["TEST_API_TOKEN"]).toBeUndefined();
  expect(seen["OLLAMA_FLASH_ATTENTION"]).toBeUndefined();
});

test("production that holds a model, or whose /api/ps cannot be read, stops it before anything starts", async () => {
  const holding = await fakeOllama({ models: ["big"] });
  holding.in_memory.add("big:latest");
  await expect(calibrate(ollamaStation({ url: holding.url }))).rejects.toMatchObject({
    code: "not_alone",
    exitCode: 75,
    message: expect.stringContaining('runner "house" holds big:latest'),
  });
  const unreadable = await fakeServer(({ path }) =>
    path === "/api/ps" ? { status: 500, body: { error: "oops" } } : { body: { version: "1" } },
  );
  await expect(calibrate(ollamaStation({ url: unreadable.url }))).rejects.toMatchObject({
    code: "not_readable",
    exitCode: 75,
  });
});

test.each([
  ["another model in mid-step", { intruder_after: 6 }, "another client loaded other:latest"],
  ["an /api/ps that nobody can read any more", { mute_after: 6 }, "holds cannot be read"],
])("%s: nothing of it counts, and no evidence comes of it", async (_, fake, reason) => {
  const station = ollamaStation({ fake });
  const { outcome } = await calibrate(station);
  expect(outcome).toMatchObject({ result: "incomplete", key: null });
  expect(outcome.stop).toContain("thrown away 3 times");
  expect(outcome.stop).toContain(reason);
  expect(existsSync(join(stateDir(station), "evidence"))).toBe(false);
});

test("only where it was asked for", async () => {
  const station = ollamaStation({ fake: { dies_at: 2 } });
  const first = await calibrate(station, { wish: { if_requested: true } });
  expect(first.outcome).toMatchObject({ result: "not_requested", verdict: null });
  const { requestCalibration } = await import("../../../src/evidence/index.ts");
  const { requestKey, openRequest } = await import("../../../src/evidence/light.ts");
  const state_dir = stateDir(station);
  const key = requestKey("ollama", "tiny");
  requestCalibration(state_dir, { key, reason: "never measured" }, Date.now());
  const second = await calibrate(station, { wish: { if_requested: true } });
  expect(second.outcome.result).toBe("measured");
  expect(openRequest(state_dir, key)).toBeUndefined();
});

test("a runner on another host is refused, whatever else is said of it", async () => {
  await expect(calibrate(ollamaStation({ url: "http://192.0.2.7:11434" }))).rejects.toMatchObject({
    code: "remote_runner",
    exitCode: 3,
    message: expect.stringContaining("the answer stays 1"),
  });
});
