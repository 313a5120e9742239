#!/usr/bin/env node
import { parseArgs } from "node:util";
import { writeMadeModel, type MadeModelOptions } from "../src/models/index.ts";

const HELP = `make-model.ts --out FILE [options]: writes a chat model with seeded random weights (GGUF)

  --dim N --layers N --heads N --kv-heads N --ff N --ctx N --vocab N --type f16|f32 --seed N
  --qk-gain X    sharpness of attention [3]
  --eos X        how much louder the end-of-turn token is than others; 0 = answers end only at
                 the token limit [0]

  node scripts/make-model.ts --out .cache/models/tiny.gguf
  node scripts/make-model.ts --out small.gguf --dim 768 --layers 8 --heads 12 --kv-heads 4 --ff 2048`;

/** Options of the command line and the fields of `MadeModelOptions` that they set. */
const FIELDS = {
  dim: "dim",
  layers: "layers",
  heads: "heads",
  "kv-heads": "kv_heads",
  ff: "ff",
  ctx: "context_length",
  vocab: "vocabulary_size",
  seed: "seed",
  "qk-gain": "qk_gain",
  eos: "eos_gain",
} as const;

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    out: text,
    type: text,
    help: { type: "boolean" },
    ...Object.fromEntries(Object.keys(FIELDS).map((name) => [name, text])),
  } as const,
});
const given = values as Readonly<Record<string, string | boolean | undefined>>;

if (given["help"] === true || given["out"] === undefined) {
  console.log(HELP);
  process.exit(given["help"] === true ? 0 : 2);
}
const options: MadeModelOptions = {};
for (const [name, field] of Object.entries(FIELDS)) {
  const value = given[name];
  if (value === undefined) continue;
  const number = Number(value);
  if (!Number.isFinite(number)) throw new TypeError(`--${name} must be a number, not ${value}`);
  options[field] = number;
}
if (given["type"] === "f16" || given["type"] === "f32") options.type = given["type"];
else if (given["type"] !== undefined) throw new TypeError("--type must be f16 or f32");
const made = writeMadeModel(String(given["out"]), options);
console.log(`${made.path}: ${made.bytes} bytes, ${made.parameters} parameters`);
