import { randomBytes } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { elementCount, ggufHeader, padded, type GgufValue } from "./gguf-writer.ts";
import { madeTensors, tensorData, type MadeShape } from "./made-weights.ts";
import { learnVocabulary, END_OF_TURN, type Vocabulary } from "./vocabulary.ts";

export interface MadeModelOptions extends Partial<MadeShape> {
  /** Longest context in tokens that the file claims to be trained for [32768]. */
  context_length?: number;
  /** Number of tokens in the vocabulary [1024]. */
  vocabulary_size?: number;
}

export interface MadeModel {
  path: string;
  bytes: number;
  parameters: number;
}

const CHAT_TEMPLATE =
  "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

function completeShape(options: MadeModelOptions): MadeShape {
  const dim = options.dim ?? 256;
  const heads = options.heads ?? 4;
  return {
    dim,
    layers: options.layers ?? 4,
    heads,
    kv_heads: options.kv_heads ?? heads,
    ff: options.ff ?? Math.ceil((dim * 2.75) / 32) * 32,
    type: options.type ?? "f16",
    seed: options.seed ?? 1,
    qk_gain: options.qk_gain ?? 3,
    eos_gain: options.eos_gain ?? 0,
  };
}

const u32 = (value: number): GgufValue => ({ type: "u32", value });
const f32 = (value: number): GgufValue => ({ type: "f32", value });
const text = (value: string): GgufValue => ({ type: "string", value });

function metadata(
  shape: MadeShape,
  words: Vocabulary,
  context_length: number,
): [string, GgufValue][] {
  const yes: GgufValue = { type: "bool", value: true };
  return [
    ["general.architecture", text("llama")],
    ["general.name", text(`tiny-random-${shape.dim}x${shape.layers}`)],
    ["general.file_type", u32(shape.type === "f16" ? 1 : 0)],
    ["llama.vocab_size", u32(words.tokens.length)],
    ["llama.context_length", u32(context_length)],
    ["llama.embedding_length", u32(shape.dim)],
    ["llama.block_count", u32(shape.layers)],
    ["llama.feed_forward_length", u32(shape.ff)],
    ["llama.attention.head_count", u32(shape.heads)],
    ["llama.attention.head_count_kv", u32(shape.kv_heads)],
    ["llama.attention.layer_norm_rms_epsilon", f32(1e-5)],
    ["llama.rope.dimension_count", u32(shape.dim / shape.heads)],
    ["llama.rope.freq_base", f32(10000)],
    ["tokenizer.ggml.model", text("llama")],
    ["tokenizer.ggml.pre", text("default")],
    ["tokenizer.ggml.tokens", { type: "array", of: "string", values: words.tokens }],
    ["tokenizer.ggml.scores", { type: "array", of: "f32", values: words.scores }],
    ["tokenizer.ggml.token_type", { type: "array", of: "i32", values: words.kinds }],
    ["tokenizer.ggml.bos_token_id", u32(1)],
    ["tokenizer.ggml.eos_token_id", u32(END_OF_TURN)],
    ["tokenizer.ggml.unknown_token_id", u32(0)],
    ["tokenizer.ggml.add_bos_token", yes],
    ["tokenizer.ggml.add_space_prefix", yes],
    ["tokenizer.chat_template", text(CHAT_TEMPLATE)],
  ];
}

function checkShape(shape: MadeShape, vocabulary_size: number): void {
  const width = shape.dim / shape.heads;
  if (!Number.isInteger(width) || width % 2 !== 0) {
    throw new RangeError(`dim ${shape.dim} / heads ${shape.heads} must be an even whole number`);
  }
  if (vocabulary_size < 400) throw new RangeError("a made model needs at least 400 tokens");
}

/**
 * Writes a complete, loadable chat model of the llama architecture (GGUF, version 3) with seeded
 * random weights: 7.5 MB by default, in well under a second, the same bytes every time. Its answers are
 * nonsense in readable words; the runner's speed, memory, batching, limits and errors are real.
 * The file appears under its name only when it is whole. Throws RangeError for impossible shapes.
 */
export function writeMadeModel(path: string, options: MadeModelOptions = {}): MadeModel {
  const shape = completeShape(options);
  checkShape(shape, options.vocabulary_size ?? 1024);
  const words = learnVocabulary(options.vocabulary_size ?? 1024);
  const tensors = madeTensors(shape, words.tokens.length);
  const header = ggufHeader(metadata(shape, words, options.context_length ?? 32768), tensors);
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const fd = openSync(temporary, "wx");
  let bytes = 0;
  const write = (block: Buffer): void => {
    for (let at = 0; at < block.length;) at += writeSync(fd, block, at);
    bytes += block.length;
  };
  try {
    write(header);
    for (const tensor of tensors) write(padded(tensorData(tensor, shape, words)));
    renameSync(temporary, path);
  } finally {
    closeSync(fd);
    rmSync(temporary, { force: true });
  }
  const parameters = tensors.reduce((sum, tensor) => sum + elementCount(tensor), 0);
  return { path, bytes, parameters };
}
