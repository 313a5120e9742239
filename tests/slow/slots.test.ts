import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMadeModel } from "../../src/models/index.ts";
import { DEFAULT_METHOD } from "../../src/verdict/index.ts";
import { findLlamaServer, madeModel } from "../helpers/llama-server.ts";
import { testStation } from "../helpers/station.ts";
import { calibrate, corpusFile } from "../integration/calibrate/setting.ts";

// What a real server does to answers and throughput depends on the machine and on what else it does,
// so these are no tests of every day. `too_noisy` is an answer, too: it is named, and gives no number.

interface Case {
  model: "tiny" | "small";
  /** Words of a question: one is about 2 tokens of the made models. */
  words: number;
  max_tokens: number;
  args: string[];
}

function modelFile(dir: string, model: Case["model"]): string {
  const path = join(dir, `${model}.gguf`);
  if (model === "tiny") copyFileSync(madeModel(), path);
  else {
    // 32-bit weights: to read them takes longer than to compute with them on any processor, which is
    // what a second request can share.
    const type = "f32";
    writeMadeModel(path, { dim: 768, layers: 8, heads: 12, kv_heads: 4, ff: 2048, type });
  }
  return path;
}

async function sweep({ model, words, max_tokens, args }: Case) {
  const policy = 'slots: {max_slots: 4}\nevidence: {commit: "off"}\npower: {keep_awake: never}\n';
  const station = testStation({ policy, machine: "" });
  const machine = {
    trusted_stations: [station.root],
    runners: [
      {
        name: "llama",
        kind: "llama-server",
        start: {
          binary: findLlamaServer(),
          model_file: modelFile(station.home, model),
          args: ["--no-warmup", ...args],
          context_length: 4096,
        },
      },
    ],
  };
  writeFileSync(station.machine_path, JSON.stringify(machine), { mode: 0o600 });
  const corpus = corpusFile(station.home, 160, words);
  const { outcome, lines } = await calibrate(station, { wish: { corpus, max_tokens } });
  console.log(lines.slice(-12).join("\n"));
  console.log(JSON.stringify(outcome.verdict, null, 1));
  return outcome;
}

test("default flags on two threads: answers change beside another request, so the number is 1", async () => {
  const { result, verdict } = await sweep({
    model: "tiny",
    words: 100,
    max_tokens: 256,
    args: ["-t", "2"],
  });
  expect(["measured", "too_noisy"]).toContain(result);
  expect(verdict?.recommended).toBe(1);
  const noisy = result === "too_noisy";
  expect(verdict?.first_breach).toMatchObject(noisy ? {} : { slots: 2, bound: "fidelity" });
});

test("long prompts without flash attention: nothing is gained, so the number is 1", async () => {
  const { result, verdict } = await sweep({
    model: "tiny",
    words: 800,
    max_tokens: 64,
    args: ["-t", "2", "-fa", "off"],
  });
  expect(["measured", "too_noisy"]).toContain(result);
  expect(verdict?.recommended).toBe(1);
  const tried = verdict?.levels.filter(({ slots }) => slots > 1).map(({ gain }) => gain);
  expect(tried).not.toContain("accepted");
});

test("short prompts on the small model without flash attention: more than 1", async () => {
  const { result, verdict } = await sweep({
    model: "small",
    words: 12,
    max_tokens: 48,
    args: ["-t", "2", "-fa", "off"],
  });
  expect(["measured", "too_noisy"]).toContain(result);
  const best = verdict?.levels.find(({ slots }) => slots === verdict.recommended);
  const risen =
    (verdict?.recommended ?? 1) > 1 && (best?.ratio_low ?? 0) > 1 + DEFAULT_METHOD.gain_gate;
  expect(risen || result === "too_noisy").toBe(true);
});
