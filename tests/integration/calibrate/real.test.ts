import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import { deviceKey, verifyEvidence } from "../../../src/evidence/index.ts";
import { judge } from "../../../src/verdict/index.ts";
import {
  coldness,
  launchOwn,
  type DeviceStart,
  type Launch,
} from "../../../src/calibrate/index.ts";
import {
  EMBEDDED_ENV,
  ensureEmbedded,
  findLlamaServer,
  madeModel,
  realKind,
  realSettings,
} from "../../helpers/llama-server.ts";
import { startCommand, command } from "../../helpers/command.ts";
import { QUIET_SERVER } from "../../helpers/quiet-readings.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { testStation } from "../../helpers/station.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";
import { deviceOn, segment } from "../../unit/calibrate/device-world.ts";
import { calibrate, corpusFile, stateDir } from "./setting.ts";

const KIND = realKind();

async function realLaunch(
  args: string[] = [],
): Promise<{ launch: Launch; cold: "cache_off" | "nonce" }> {
  if (KIND === "embedded") await ensureEmbedded();
  const settings = realSettings();
  const { binary = null, model_file = null, args: own = [] } = settings.start ?? {};
  const plan = { settings, binary, model_file, models_dir: null, args: [...own, ...args], env: {} };
  const { cold, args: cache } = await coldness(plan);
  const deps = {
    clock: systemClock,
    new_id: ulidSource(systemClock),
    work_dir: tempDir(),
    env: EMBEDDED_ENV,
  };
  return { launch: launchOwn(plan, cache, deps), cold };
}

async function realDevice(args: string[] = []) {
  const { launch, cold } = await realLaunch(args);
  return { cold, ...deviceOn({ kind: KIND, url: "", launch, cold, model: "tiny" }) };
}

async function started(
  device: Awaited<ReturnType<typeof realDevice>>["device"],
  slots: number,
  context_per_slot: number,
): Promise<DeviceStart> {
  const start = await device.start({ slots, context_per_slot });
  onTestFinished(() => start.stop());
  return start;
}

const period = (start: DeviceStart, workers: number) =>
  start.measure({
    workers,
    segments: ["a", "b", "c"].map((id) => segment(id, 2)),
    fillers: ["f", "g"].map((id) => segment(id)),
    nonce: "1",
  });

test("the slots and the context that were asked for are the ones read back and served", async () => {
  const { device, cold, rows } = await realDevice();
  const start = await started(device, 3, 512);
  expect(start.record).toMatchObject({
    loaded: true,
    slots_asked: 3,
    slots_read: 3,
    context_read: 512,
  });
  expect(start.record.load_s).toBeGreaterThan(0);
  await start.warmUp(3);
  for (const workers of [3, 1]) {
    const result = await period(start, workers);
    expect(result).toMatchObject({ lost: null, disturbed: null });
    expect(result.readings).toMatchObject(QUIET_SERVER);
    // The same prompts a second time: nothing of them comes from a cache.
    const cached = result.turns.map(({ cached_tokens }) => cached_tokens ?? 0);
    expect(Math.max(...cached)).toBe(0);
    for (const turn of result.turns) {
      expect(turn).toMatchObject({ ok: true, finish_reason: "length", output_tokens: 16 });
    }
  }
  expect(cold).toBe("cache_off");
  // One worker and three: each prompt has the same number of tokens both times.
  const counts = new Map(rows.map(({ turn_id, prompt_tokens }) => [turn_id, prompt_tokens]));
  for (const row of rows) expect(row.prompt_tokens).toBe(counts.get(row.turn_id));
});

test("one slot gives the same answers twice, and its signatures say so", async () => {
  const { device, rows } = await realDevice();
  const start = await started(device, 1, 512);
  await period(start, 1);
  await period(start, 1);
  const exact = new Map<string, Set<string | null>>();
  for (const row of rows)
    exact.set(row.turn_id, (exact.get(row.turn_id) ?? new Set()).add(row.exact));
  expect([...exact.values()].map((hashes) => hashes.size)).toEqual(Array.from(exact, () => 1));
  expect(exact.size).toBe(6);
});

test("prompts that are longer than a slot's context fail, each of them, and are never cut", async () => {
  const { device } = await realDevice();
  const start = await started(device, 2, 256);
  const long = await start.measure({
    workers: 2,
    segments: [segment("long", 2), segment("longer")],
    fillers: [],
    nonce: "1",
  });
  expect(long.readings).toMatchObject({ failed_turns: 3, cut_prompts: 0, context_shifts: 0 });
  expect(long.turns.map(({ fault }) => fault)).toEqual(
    Array.from({ length: 3 }, () => "context_exceeded: longer than the slot's context"),
  );
});

test("a server that is killed in mid-period is lost, with how it ended", async () => {
  const { launch, cold } = await realLaunch();
  let pid = 0;
  const watched: Launch = async (options) => {
    const server = await launch(options);
    pid = server.pid ?? 0;
    return server;
  };
  const { device } = deviceOn({
    kind: KIND,
    url: "",
    launch: watched,
    cold,
    model: "tiny",
    max_tokens: 400,
  });
  const start = await started(device, 2, 1024);
  const measuring = period(start, 2);
  await waitFor("slots at work", () => pid > 0);
  process.kill(pid, "SIGKILL");
  const result = await measuring;
  expect(result.lost).toMatch(/the server (ended: signal SIGKILL|is not there)/);
  expect(result.turns.some(({ ok }) => !ok)).toBe(true);
  expect(result.disturbed).toBeNull();
});

test("a model that cannot be loaded is a record with its reason, and nothing is left running", async () => {
  const broken = join(tempDir(), "broken.gguf");
  writeFileSync(broken, "GGUF but no more than that");
  const settings = realSettings();
  const plan = {
    settings,
    binary: settings.start?.binary ?? null,
    model_file: broken,
    models_dir: null,
    args: [],
    env: {},
  };
  const deps = {
    clock: systemClock,
    new_id: ulidSource(systemClock),
    work_dir: tempDir(),
    env: EMBEDDED_ENV,
  };
  const { device } = deviceOn({
    kind: KIND,
    url: "",
    launch: launchOwn(plan, [], deps),
    model: "broken",
  });
  const { record } = await device.start({ slots: 2, context_per_slot: 512 });
  expect(record).toMatchObject({ loaded: false, slots_read: null });
  expect(record.failure).toMatch(/status 1|signal/);
  expect(record.failure).not.toContain("/");
});

/** A station whose runner is the real llama-server with a model file of its own, found by its path. */
function llamaStation(context_length = 512, binary = findLlamaServer() ?? "") {
  const policy = 'slots: {max_slots: 2}\nevidence: {commit: "off"}\npower: {keep_awake: never}\n';
  const station = testStation({ policy, machine: "" });
  const model_file = join(station.home, "unique.gguf");
  copyFileSync(madeModel(), model_file);
  const machine = [
    "trusted_stations:",
    `  - ${station.root}`,
    "runners:",
    "  - name: llama",
    "    kind: llama-server",
    "    start:",
    `      binary: ${binary}`,
    `      model_file: ${model_file}`,
    "      args: [-t, '1', --no-warmup, -fa, 'off']",
    `      context_length: ${context_length}`,
  ];
  writeFileSync(station.machine_path, machine.join("\n"), { mode: 0o600 });
  return { ...station, model_file, corpus: corpusFile(station.home) };
}

/** Processes whose arguments name that file. */
function serving(model_file: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(model_file);
      } catch {
        return false;
      }
    });
}

test.each(onlyIf(KIND === "llama-server" && process.platform === "linux"))(
  "killed in mid-step it leaves no runner, and goes on after its steps when it is run again",
  async () => {
    const { root, env, model_file, corpus } = llamaStation();
    const args = [
      "slots",
      "calibrate",
      "--corpus",
      corpus,
      "--max-tokens",
      "16",
      "--station",
      root,
    ];
    const first = startCommand(args, { env, cwd: root });
    await waitFor("the noise", () => first.output().stderr.includes("noise at 1 slot"), 90_000);
    await waitFor("its runner", () => serving(model_file).length > 0);

    const second = await command(args, { env, cwd: root });
    expect(second.exit_code).toBe(75);
    expect(second.stderr).toContain(`held by pid ${first.child.pid} (slots calibrate) since`);

    first.child.kill("SIGKILL");
    await first.finished;
    await waitFor("no runner is left", () => serving(model_file).length === 0);

    const third = await command([...args, "--budget", "1s", "--json"], { env, cwd: root });
    expect(third.stderr).toContain("noise at 1 slot");
    expect(third.stderr).not.toContain("loading with 1 slot");
    expect(third.exit_code).toBe(75);
    expect(JSON.parse(third.stdout)).toMatchObject({
      result: "incomplete",
      stop: "the time allowed ran out",
      key: null,
    });
  },
);

test.each(onlyIf(KIND === "llama-server"))(
  "a whole sweep at a small scale gives evidence that proves itself",
  async () => {
    const station = llamaStation();
    const { outcome } = await calibrate(station, {
      wish: { corpus: corpusFile(station.home, 60, 2), max_tokens: 2 },
    });
    const { verdict, key } = outcome;
    // How much is gained depends on what else runs here; that there is an answer with its proof does not.
    expect(outcome).toMatchObject({ model: "unique", runner: "llama" });
    expect(verdict?.result).toBe(outcome.result);
    expect(["measured", "too_noisy"]).toContain(outcome.result);
    if (outcome.result === "too_noisy") return;
    expect(verdict?.levels.map(({ slots }) => slots)).toEqual([1, 2]);
    expect(verdict?.max_safe).toBeGreaterThanOrEqual(verdict?.recommended ?? 9);
    const state_dir = stateDir(station);
    const text = readFileSync(join(state_dir, "evidence", `${key}.json`), "utf8");
    const { evidence, faults } = verifyEvidence(text, [deviceKey(state_dir)], judge);
    expect(faults).toEqual([]);
    expect(evidence?.identity).toMatchObject({
      runner: { kind: "llama-server", version: expect.stringMatching(/^b\d+/) },
      model: { id: "unique", digest_source: "file" },
      context_per_slot: 512,
      flash_attention: "off",
      batch: "--threads 1",
      cache: "cache_off",
    });
    const turns = readFileSync(join(outcome.run_dir ?? "", "turns.jsonl"));
    expect(evidence?.raw.runs).toMatchObject([{ sha256: sha256Hex(turns) }]);
    expect(turns.toString()).not.toContain("Question");
  },
  400_000,
);

test.each(onlyIf(KIND === "llama-server"))(
  "a context that one slot has too little of for the corpus is refused, with what to do",
  async () => {
    const station = llamaStation(256);
    const corpus = corpusFile(station.home, 60, 300);
    const measuring = calibrate(station, { wish: { corpus, max_tokens: 2 } });
    await expect(measuring).rejects.toMatchObject({
      code: "context_too_small",
      exitCode: 3,
      message: expect.stringMatching(/turns? (is|are) longer than the 256 tokens that a slot has/),
      hint: expect.stringContaining("--context"),
    });
    expect(existsSync(join(stateDir(station), "evidence"))).toBe(false);
    expect(readdirSync(join(stateDir(station), "checkpoints"))).toEqual([]);
  },
  400_000,
);

test.each(onlyIf(KIND === "llama-server"))(
  "a context that two slots have too little of is a breach at 2, in the evidence",
  async () => {
    // A wrapper of its owner's fixes the whole context: each of two slots has half of it.
    const wrapper = join(tempDir(), "llama-server");
    const script = `#!/bin/sh\nexec "${findLlamaServer()}" "$@" -c 1024\n`;
    writeFileSync(wrapper, script, { mode: 0o755 });
    const station = llamaStation(1024, wrapper);
    const corpus = corpusFile(station.home, 60, 300);
    const { outcome } = await calibrate(station, { wish: { corpus, max_tokens: 2 } });
    expect(outcome).toMatchObject({
      result: "measured",
      verdict: { recommended: 1, max_safe: 1, first_breach: { slots: 2, bound: "context" } },
    });
    expect(outcome.verdict?.first_breach?.reason).toBe(
      "1024 tokens of context for each slot were asked for and 512 given",
    );
    const state_dir = stateDir(station);
    const text = readFileSync(join(state_dir, "evidence", `${outcome.key}.json`), "utf8");
    expect(verifyEvidence(text, [deviceKey(state_dir)], judge).faults).toEqual([]);
  },
  400_000,
);
