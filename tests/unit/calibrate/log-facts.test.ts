import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { logCounts, logShape, ServerLog } from "../../../src/calibrate/log-facts.ts";
import { fixture } from "../../helpers/fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const recorded = (name: string): string => fixture(`runner/llama-server-log/${name}`).toString();
const NOTHING = { loads: 0, truncations: 0, shifts: 0, evictions: 0, device_failures: 0 };

test.each([
  ["18-deb-np2-default-verbosity.txt", { slots: 2, context: 512 }],
  ["16-new-lv4-context-kv.txt", { slots: 1, context: 2048 }],
  // Four slots over one shared cache: each may use all of it, only a quarter is certain.
  ["15-new-auto-slots.txt", { slots: 4, context: 8192 }],
  ["19-deb-auto-slots.txt", { slots: 4, context: 8192 }],
  ["21-deb-model-missing.txt", { slots: null, context: null }],
])("%s has the slots %j", (name, shape) => {
  expect(logShape(recorded(name))).toEqual(shape);
});

test("the last load counts, and Ollama's own lines around it do not hide it", () => {
  const text = [
    'time=2026-09-24T15:11:32Z level=INFO source=server.go msg="starting llama-server" port=4711',
    "srv    load_model: initializing, n_slots = 1, n_ctx_slot = 65536",
    "srv    load_model: initializing, n_slots = 2, n_ctx_slot = 65536",
  ].join("\n");
  expect(logShape(text)).toEqual({ slots: 2, context: 65_536 });
});

test("older builds say it in the words of the context", () => {
  const text = "llama_context: n_seq_max     = 4\nllama_context: n_ctx_per_seq = 4096\n";
  expect(logShape(text)).toEqual({ slots: 4, context: 4096 });
});

test("a healthy log with `truncated = 0` and a refused prompt counts nothing but its load", () => {
  expect(logCounts(recorded("18-deb-np2-default-verbosity.txt"))).toEqual({ ...NOTHING, loads: 1 });
});

test.each([
  ["slot release: id 0 | stop processing: n_tokens = 512, truncated = 1", { truncations: 1 }],
  ['level=WARN msg="truncating input prompt" limit=4096 prompt=9000', { truncations: 1 }],
  ["input truncated, n_ctx = 512", { truncations: 1 }],
  ["slot update_slots: id 0 | slot context shift, n_keep = 0, n_discard = 250", { shifts: 2 }],
  ["common_init: KV cache shifting is not supported for this context, disabling", {}],
  ["srv init: context shift is disabled", {}],
  ["srv load_model: loading model '/m.gguf'", { loads: 1 }],
  ['msg="starting runner" cmd="/usr/bin/ollama runner"', { loads: 1 }],
  ["failed to find free space in the KV cache, retrying", { evictions: 1 }],
  ["srv send_error: error: Context size has been exceeded.", { evictions: 1 }],
  ["ggml_metal_graph_compute: command buffer 1 failed with status 5", { device_failures: 1 }],
  ["decode: failed to decode, ret = -3", { device_failures: 1 }],
])("%s", (line, found) => {
  expect(logCounts(`${line}\n`)).toEqual({ ...NOTHING, ...found });
});

test("a log is read on where it was left, and is recognised by its slots", () => {
  const path = join(tempDir(), "server.log");
  writeFileSync(path, "hello\n");
  const log = new ServerLog(path);
  expect(log.more()).toBe("hello\n");
  expect(log.recognised).toBe(false);
  appendFileSync(path, "load_model: initializing, n_slots = 2, n_ctx_slot = 512\n");
  expect(logShape(log.more() ?? "")).toEqual({ slots: 2, context: 512 });
  expect(log.recognised).toBe(true);
  expect(log.more()).toBe("");
  rmSync(path);
  expect(log.more()).toBeUndefined();
});
