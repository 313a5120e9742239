import { createHash } from "node:crypto";
import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkGgufHead, writeMadeModel } from "../../../src/models/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

test("the default model is the same file, byte by byte, that measurements were made with", () => {
  const path = join(tempDir(), "tiny.gguf");
  const made = writeMadeModel(path);
  expect(made).toEqual({ path, bytes: 7_507_456, parameters: 3_737_856 });
  expect(sha256(path)).toBe("f451de15ad136da9fefea36c3fc7ce862fd561aec61fcc95fe1f9ca97855b8ff");
});

test("every option changes the file, and the same options give the same file", () => {
  const dir = tempDir();
  const small = { dim: 32, layers: 1, heads: 2, ff: 64, vocabulary_size: 400 };
  const base = sha256(writeMadeModel(join(dir, "a.gguf"), small).path);
  expect(sha256(writeMadeModel(join(dir, "b.gguf"), small).path)).toBe(base);
  const others = [
    { seed: 2 },
    { type: "f32" },
    { eos_gain: 3 },
    { qk_gain: 1 },
    { kv_heads: 1 },
    { context_length: 512 },
    { vocabulary_size: 2000 },
  ] as const;
  const hashes = others.map((other, i) =>
    sha256(writeMadeModel(join(dir, `${i}.gguf`), { ...small, ...other }).path),
  );
  expect(new Set([base, ...hashes]).size).toBe(others.length + 1);
});

test("impossible shapes are refused before a file is begun", () => {
  const dir = tempDir();
  expect(() => writeMadeModel(join(dir, "x.gguf"), { dim: 250 })).toThrow(/dim 250 \/ heads 4/);
  expect(() => writeMadeModel(join(dir, "x.gguf"), { vocabulary_size: 399 })).toThrow(/400 tokens/);
  expect(readdirSync(dir)).toEqual([]);
});

test("the file begins as GGUF version 3 with its chat template inside", () => {
  const path = join(tempDir(), "m.gguf");
  writeMadeModel(path, { dim: 32, layers: 1, heads: 2, vocabulary_size: 400 });
  const bytes = readFileSync(path);
  expect(bytes.subarray(0, 4).toString()).toBe("GGUF");
  expect(bytes.readUInt32LE(4)).toBe(3);
  expect(bytes.readBigUInt64LE(8)).toBe(12n); // 9 tensors a layer and 3 beside them
  expect(bytes.includes("tokenizer.chat_template")).toBe(true);
  expect(bytes.length % 32).toBe(0);
});

test("a file that cannot be a model is refused by its first bytes", () => {
  const path = join(tempDir(), "m.gguf");
  writeMadeModel(path, { dim: 32, layers: 1, heads: 2, vocabulary_size: 400 });
  expect(() => checkGgufHead(path)).not.toThrow();
  const refused: [Buffer, RegExp][] = [
    [Buffer.from("PK\u0003\u0004 a zip file that is long enough"), /is not a GGUF file/],
    [Buffer.from("GGUF"), /ends inside its header/],
    [Buffer.from("GGUF but no more than that"), /unknown version/],
    [Buffer.concat([Buffer.from("GGUF\u0003\0\0\0"), Buffer.alloc(16, 0xff)]), /ends before/],
  ];
  for (const [bytes, message] of refused) {
    writeFileSync(path, bytes);
    expect(() => checkGgufHead(path)).toThrow(message);
  }
  truncateSync(path, 0);
  expect(() => checkGgufHead(path)).toThrow(/ends inside its header/);
  expect(() => checkGgufHead(`${path}.gone`)).toThrow(/ENOENT/);
});
