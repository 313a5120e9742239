import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SweepState } from "../../../../src/calibrate/index.ts";
import {
  CheckpointDir,
  dropOldCheckpoints,
} from "../../../../src/daemon/calibration/checkpoint.ts";
import { chooseCorpus } from "../../../../src/daemon/calibration/corpus-choice.ts";
import { fileDigest } from "../../../../src/daemon/calibration/file-digest.ts";
import { servingSettings } from "../../../../src/daemon/calibration/identity.ts";
import { binaryMark, methodOf } from "../../../../src/daemon/calibration/method.ts";
import { planCalibration } from "../../../../src/daemon/calibration/plan.ts";
import { machineSchema } from "../../../../src/station/index.ts";
import { methodSchema } from "../../../../src/verdict/index.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const KEY = "a".repeat(64);
const STATE = { schema: "touchstoned/sweep-state/1", requests: 3 } as SweepState;
const FACTS = { version: "b1", quantization: "F16", digest: null };

test("a checkpoint keeps the sweep and what belongs to it, and is gone when it is removed", () => {
  const dir = tempDir();
  const first = new CheckpointDir(dir, KEY);
  expect(first.load()).toBeUndefined();
  expect(first.kept).toEqual({ run: null, facts: null });
  first.save(STATE);
  first.keep({ run: "r1" });
  first.keep({ facts: FACTS });
  const second = new CheckpointDir(dir, KEY);
  expect(second.load()).toEqual(STATE);
  expect(second.kept).toEqual({ run: "r1", facts: FACTS });
  expect(new CheckpointDir(dir, "b".repeat(64)).load()).toBeUndefined();
  second.remove();
  expect(first.load()).toBeUndefined();
});

test.each(["", "{", "[]", '{"schema":"touchstoned/sweep-state/9"}'])(
  "a checkpoint that says %j is measured again",
  (text) => {
    const dir = tempDir();
    const checkpoint = new CheckpointDir(dir, KEY);
    checkpoint.save(STATE);
    const [name = ""] = readdirSync(join(dir, "checkpoints"));
    writeFileSync(join(dir, "checkpoints", name, "state.json"), text);
    expect(checkpoint.load()).toBeUndefined();
  },
);

test("checkpoints that are too old to count are taken away", () => {
  const dir = tempDir();
  new CheckpointDir(dir, KEY).save(STATE);
  new CheckpointDir(dir, "b".repeat(64)).save(STATE);
  const old = join(dir, "checkpoints", "b".repeat(32));
  utimesSync(old, 1000, 1000);
  dropOldCheckpoints(dir, 86_400_000, Date.now());
  expect(readdirSync(join(dir, "checkpoints"))).toEqual(["a".repeat(32)]);
  dropOldCheckpoints(join(dir, "none"), 1, 1);
});

test("a model's digest is read once, until the file is another", async () => {
  const dir = tempDir();
  const file = join(dir, "m.gguf");
  writeFileSync(file, "one");
  const notes: string[] = [];
  const digest = () => fileDigest(dir, file, { note: (text) => notes.push(text) });
  const first = await digest();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(await digest()).toBe(first);
  expect(notes).toHaveLength(1);
  writeFileSync(file, "another");
  expect(await digest()).not.toBe(first);
  writeFileSync(join(dir, "slots", "digests.json"), "{half");
  await digest();
  expect(notes).toHaveLength(3);
});

const plan = (runner: object) =>
  planCalibration(machineSchema.parse({ runners: [{ name: "r", ...runner }] }), { model: "m" });

const llama = (args: string[], env: Record<string, string> = {}) =>
  plan({
    kind: "llama-server",
    url: "http://127.0.0.1:1",
    calibration: { model_file: "/m.gguf", args, env },
  });

test.each([
  [["-fa", "off", "-t", "2"], { kv_type: null, flash_attention: "off", batch: "--threads 2" }],
  [["-ctk", "q8_0", "-ctv", "q8_0"], { kv_type: "q8_0", batch: null }],
  [["--cache-type-k=q4_0", "-fa"], { kv_type: "q4_0/default", flash_attention: "on" }],
  [["-fa", "-ub", "256"], { flash_attention: "on", batch: "--ubatch-size 256" }],
])("%j changes the identity of the evidence", (args, expected) => {
  expect(servingSettings(llama(args), "cache_off")).toMatchObject({
    cache: "cache_off",
    ...expected,
  });
});

test("settings that name files, and long ones, are told by a hash", () => {
  const { batch } = servingSettings(llama(["--lora", "/home/ada/secret.gguf"]), "cache_off");
  expect(batch).toMatch(/^settings [0-9a-f]{16}$/);
  expect(servingSettings(llama(["--lora", "/home/ada/other.gguf"]), "cache_off").batch).not.toBe(
    batch,
  );
});

test("Ollama's variables are part of it, too, whatever their order", () => {
  const ollama = (env: Record<string, string>) =>
    servingSettings(
      plan({ kind: "ollama", url: "http://127.0.0.1:1", calibration: { env } }),
      "nonce",
    );
  expect(ollama({ OLLAMA_KV_CACHE_TYPE: "q8_0", OLLAMA_FLASH_ATTENTION: "1" })).toEqual({
    kv_type: "q8_0",
    flash_attention: "1",
    batch: null,
    cache: "nonce",
  });
  expect(ollama({ B: "2", A: "1" })).toEqual(ollama({ A: "1", B: "2" }));
});

test("the method is whole, and the program that serves has a mark of its own", () => {
  const ours = llama([]);
  const method = methodOf(ours, undefined, {
    cold: "cache_off",
    max_slots: 4,
    text_answers: "any",
  });
  expect(methodSchema.parse(method)).toMatchObject({
    temperature: 0,
    max_tokens: 512,
    max_slots: 4,
    context_per_slot: 4096,
    residency: "own_start",
  });
  const dir = tempDir();
  expect(() => binaryMark(ours, { PATH: dir })).toThrow(/there is no program llama-server/);
  writeFileSync(join(dir, "llama-server"), "1");
  const mark = binaryMark(ours, { PATH: dir });
  writeFileSync(join(dir, "llama-server"), "22");
  expect(binaryMark(ours, { PATH: dir })).not.toBe(mark);
});

test("without a corpus and without runs there is nothing to measure with, and what to do is said", () => {
  const state_dir = tempDir();
  expect(() =>
    chooseCorpus({ path: undefined, state_dir, runs_dir: state_dir, note: () => undefined }),
  ).toThrow(
    expect.objectContaining({
      code: "no_corpus",
      exitCode: 64,
      hint: expect.stringContaining("touchstoned slots corpus"),
    }),
  );
  expect(existsSync(join(state_dir, "slots", "corpus.json"))).toBe(false);
});
