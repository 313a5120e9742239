import { truncateSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGguf, writeMadeModel } from "../../../src/models/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { entry, hostile, modelFile, text, u32, u64, word, type Hostile } from "./headers.ts";

const SMALL = { dim: 64, layers: 2, heads: 4, kv_heads: 2, ff: 64, vocabulary_size: 400 };

describe("the header of a made model", () => {
  it("tells what it is", async () => {
    const path = join(tempDir(), "tiny.gguf");
    const made = writeMadeModel(path, { ...SMALL, context_length: 2048 });
    expect(await readGguf(path)).toEqual({
      files: [path],
      size_bytes: made.bytes,
      mtime_ms: Math.floor(statSync(path).mtimeMs),
      name: "tiny-random-64x2",
      architecture: "llama",
      parameters: made.parameters,
      active_parameters: made.parameters,
      quantization: "f16",
      context_length: 2048,
      // 2 layers, 2 heads with keys and values of 16 numbers each.
      kv_elements_per_token: 2 * 2 * (16 + 16),
    });
  });

  it("is refused wherever it is cut off", async () => {
    const path = join(tempDir(), "tiny.gguf");
    writeMadeModel(path, SMALL);
    for (const size of [150_000, 9000, 3000, 100, 20, 3, 0]) {
      truncateSync(path, size);
      await expect(readGguf(path), `${size} bytes`).rejects.toThrow(
        expect.objectContaining({ exitCode: 64, message: expect.stringContaining(path) }),
      );
    }
  });
});

describe("headers of other models", () => {
  const LLAMA: [string, ReturnType<typeof u32>][] = [
    ["general.architecture", text("moe")],
    ["moe.block_count", u32(2)],
    ["moe.embedding_length", u32(64)],
    ["moe.attention.head_count", u32(4)],
  ];
  const tensor = (name: string, ...dimensions: number[]) => ({
    name,
    dimensions,
    type: "f16" as const,
  });

  it("of a mixture of experts: all parameters for memory, the used ones for speed", async () => {
    const path = modelFile(
      [...LLAMA, ["moe.expert_count", u32(8)], ["moe.expert_used_count", u32(2)]],
      [tensor("blk.0.ffn_up_exps.weight", 64, 32, 8), tensor("blk.0.attn_q.weight", 64, 64)],
    );
    const experts = 64 * 32 * 8;
    expect(await readGguf(path)).toMatchObject({
      parameters: experts + 64 * 64,
      active_parameters: experts / 4 + 64 * 64,
    });
  });

  it("with other heads in each layer, and keys and values of their own widths", async () => {
    const heads = { type: "array", of: "i32", values: [4, 0] } as const;
    const path = modelFile(
      [
        ...LLAMA,
        ["moe.attention.head_count_kv", heads],
        ["moe.attention.key_length", u32(96)],
        ["moe.attention.value_length", u32(32)],
      ],
      [tensor("t", 64, 64)],
    );
    // A layer without attention keeps nothing.
    expect(await readGguf(path)).toMatchObject({ kv_elements_per_token: 4 * (96 + 32) });
  });

  it("that say less: null, and the quantization by what most numbers are", async () => {
    const path = modelFile([["general.architecture", text("odd")]], [tensor("t", 64, 64)]);
    expect(await readGguf(path)).toMatchObject({
      quantization: "f16",
      context_length: null,
      kv_elements_per_token: null,
      name: null,
    });
  });

  it("in parts: the sum of all, whichever is named, and a missing one is named", async () => {
    const dir = tempDir();
    const part = (i: number) => `big-0000${i}-of-00002.gguf`;
    modelFile(LLAMA, [tensor("a", 64, 64)], part(1), dir);
    const second = modelFile([["split.no", u32(1)]], [tensor("b", 64, 32)], part(2), dir);
    const facts = await readGguf(second);
    expect(facts).toMatchObject({ architecture: "moe", parameters: 64 * 96 });
    expect(facts.files).toEqual([join(dir, part(1)), second]);
    const alone = modelFile(LLAMA, [tensor("a", 64, 64)], part(1));
    await expect(readGguf(alone)).rejects.toThrow(/00002-of-00002\.gguf.*ENOENT/);
  });

  it.each([
    ["no architecture", [["general.name", text("x")]], [tensor("t", 8, 8)], /no architecture/],
    ["no tensors", LLAMA, [], /holds no tensors/],
  ] as const)("are refused with %s", async (_, metadata, tensors, message) => {
    const path = modelFile([...metadata] as never, [...tensors]);
    await expect(readGguf(path)).rejects.toThrow(message);
  });
});

describe("hostile headers", () => {
  const MEGABYTE = 1 << 20;
  const cases: [string, Hostile, RegExp][] = [
    ["another magic", { magic: "GGML" }, /is not a GGUF file/],
    ["version 99", { version: 99 }, /unknown version \(99\)/],
    ["big-endian numbers", { big_endian: true, entries: 1n }, /for big-endian machines/],
    ["2^60 entries", { entries: 1n << 60n }, /ends before all that its header announces/],
    ["2^63 tensors", { tensors: 1n << 63n }, /ends before all that its header announces/],
    ["more entries than any model has", { entries: 200_000n, padding: 3 * MEGABYTE }, /exceeds/],
    ["a key of 2^60 bytes", { entries: 1n, rest: u64(1n << 60n), padding: 99 }, /length.*exceeds/],
    [
      "a text of 2^60 bytes",
      { entries: 1n, rest: entry("k", 8, u64(1n << 60n)), padding: 99 },
      /length.*exceeds/,
    ],
    [
      "a list of 2^60 numbers",
      { entries: 1n, rest: entry("k", 9, word(4), u64(1n << 60n)), padding: 99 },
      /array length.*exceeds/,
    ],
    [
      "lists in lists in lists",
      {
        entries: 1n,
        rest: entry("k", 9, ...Array.from({ length: 40 }, () => [word(9), u64(1n)]).flat()),
      },
      /Nested ARRAY/,
    ],
    ["a type that is none", { entries: 1n, rest: entry("k", 77), padding: 99 }, /type: 77/],
    [
      "a text that goes on after the end",
      { entries: 1n, rest: entry("k", 8, u64(5000n)) },
      /header/,
    ],
    [
      "a tensor of 2^60 numbers",
      {
        tensors: 1n,
        rest: Buffer.concat([u64(1n), Buffer.from("t"), word(2), u64(1n << 60n), u64(2n)]),
        padding: 99,
      },
      /dimension/,
    ],
    [
      "a tensor of 2^32 dimensions",
      {
        tensors: 1n,
        rest: Buffer.concat([u64(1n), Buffer.from("t"), word(0xffffffff)]),
        padding: 99,
      },
      /n_dims/,
    ],
  ];
  it.each(cases)("%s", async (_, parts, message) => {
    const path = hostile(parts);
    const before = process.memoryUsage().arrayBuffers;
    await expect(readGguf(path)).rejects.toThrow(
      expect.objectContaining({ exitCode: 64, message: expect.stringMatching(message) }),
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * MEGABYTE);
  });

  it("are refused in words or read, whatever bytes they are made of", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 400 }),
        fc.nat({ max: 4 }),
        fc.nat({ max: 4 }),
        async (bytes, tensors, entries) => {
          const parts = { tensors: BigInt(tensors), entries: BigInt(entries) };
          const path = hostile({ ...parts, rest: Buffer.from(bytes) });
          await expect(readGguf(path)).rejects.toMatchObject({ exitCode: 64 });
        },
      ),
      { numRuns: 60 },
    );
  });

  it("or no file at all", async () => {
    await expect(readGguf(tempDir())).rejects.toThrow(/is not a file/);
    await expect(readGguf("/nowhere/m.gguf")).rejects.toThrow(/cannot read this model \(ENOENT\)/);
  });
});
