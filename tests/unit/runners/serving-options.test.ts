import { expect, test } from "vitest";
import { contentHash } from "../../../src/core/json.ts";
import { servingOptions, settingsText } from "../../../src/runners/serving-options.ts";

const NOTHING = { kv_type: null, flash_attention: null, batch: null };
const of = (line: string, env: Record<string, string> = {}) => servingOptions(line.split(" "), env);

test.each([
  ["-m /models/a.gguf --host 127.0.0.1 --port 8080 -np 4 -c 8192 --alias a", NOTHING],
  ["--metrics --slots --no-warmup -v --log-file x.log --api-key secret --cache-ram 0", NOTHING],
  ["-fa off -t 2", { ...NOTHING, flash_attention: "off", batch: "--threads 2" }],
  ["-fa", { ...NOTHING, flash_attention: "on" }],
  ["-fa -ub 256", { ...NOTHING, flash_attention: "on", batch: "--ubatch-size 256" }],
  ["--flash-attn 1", { ...NOTHING, flash_attention: "on" }],
  ["-ctk q8_0 -ctv q8_0", { ...NOTHING, kv_type: "q8_0" }],
  ["--cache-type-k=q4_0", { ...NOTHING, kv_type: "q4_0/default" }],
  ["-ngl -1 -t 2", { ...NOTHING, batch: "--gpu-layers -1 --threads 2" }],
  ["-t 2 -t 4", { ...NOTHING, batch: "--threads 4" }],
  ["--mlock", { ...NOTHING, batch: "--mlock" }],
])("%s", (line, expected) => {
  expect(of(line)).toEqual(expected);
});

test("neither the order nor the spelling of options matters", () => {
  const one = of("-t 2 -b 512 --n-gpu-layers 20 --mlock");
  expect(of("--mlock -ngl 20 --batch-size 512 --threads 2 -m /other.gguf")).toEqual(one);
  expect(of("-t 3 -b 512 --n-gpu-layers 20 --mlock")).not.toEqual(one);
});

test("variables count as options do, and an option wins over its variable", () => {
  const env = { LLAMA_ARG_CACHE_TYPE_K: "q8_0", LLAMA_ARG_CACHE_TYPE_V: "q8_0" };
  expect(of("-t 2", { ...env, LLAMA_ARG_FLASH_ATTN: "true" })).toEqual({
    kv_type: "q8_0",
    flash_attention: "on",
    batch: "--threads 2",
  });
  expect(of("-ctk f16 -ctv f16", env).kv_type).toBe("f16");
  expect(of("--mlock", { LLAMA_ARG_THREADS: "2" }).batch).toBe("--mlock --threads 2");
});

test("variables that are no settings, and secrets, are not looked at", () => {
  const env = { HOME: "/home/ada", LLAMA_API_KEY: "secret", LLAMA_ARG_PORT: "1", PATH: "/bin" };
  expect(of("-m /a", env)).toEqual(NOTHING);
  expect(of("-m /a", { CUDA_VISIBLE_DEVICES: "1" }).batch).toBe("CUDA_VISIBLE_DEVICES=1");
});

test("settings that name files, and long ones, are told by a hash", () => {
  const { batch } = of("--lora /home/ada/secret.gguf");
  expect(batch).toMatch(/^settings [0-9a-f]{16}$/);
  expect(of("--lora /home/ada/other.gguf").batch).not.toBe(batch);
  const words = ["--lora /home/ada/secret.gguf"];
  expect(settingsText(words)).toBe(`settings ${contentHash(words).slice(0, 16)}`);
  expect(settingsText(["a".repeat(101)])).toMatch(/^settings/);
  expect(settingsText([])).toBeNull();
});
