import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggufHeader, type GgufValue, type TensorHeader } from "../../../src/models/gguf-writer.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

export const u32 = (value: number): GgufValue => ({ type: "u32", value });
export const text = (value: string): GgufValue => ({ type: "string", value });

/** A model file of zeros with this header. */
export function modelFile(
  metadata: readonly [string, GgufValue][],
  tensors: readonly TensorHeader[],
  name = "model.gguf",
  dir = tempDir(),
): string {
  const path = join(dir, name);
  const bytes = tensors.reduce((sum, { dimensions }) => {
    return sum + dimensions.reduce((product, n) => product * n, 1) * 2 + 32;
  }, 0);
  writeFileSync(path, Buffer.concat([ggufHeader(metadata, tensors), Buffer.alloc(bytes)]));
  return path;
}

function u64(value: bigint, big = false): Buffer {
  const bytes = Buffer.alloc(8);
  if (big) bytes.writeBigUInt64BE(value);
  else bytes.writeBigUInt64LE(value);
  return bytes;
}

function word(value: number, big = false): Buffer {
  const bytes = Buffer.alloc(4);
  if (big) bytes.writeUInt32BE(value);
  else bytes.writeUInt32LE(value);
  return bytes;
}

export interface Hostile {
  magic?: string;
  version?: number;
  big_endian?: boolean;
  tensors?: bigint;
  entries?: bigint;
  rest?: Buffer;
  /** Zeros behind it, so that the counts are not refused for the file's size alone. */
  padding?: number;
}

/** The bytes of a header that no writer of models would write. */
export function hostile(parts: Hostile): string {
  const { magic = "GGUF", version = 3, big_endian = false, tensors = 0n, entries = 0n } = parts;
  const path = join(tempDir(), "hostile.gguf");
  const head = [Buffer.from(magic), word(version, big_endian)];
  const counts = [u64(tensors, big_endian), u64(entries, big_endian)];
  const tail = [parts.rest ?? Buffer.alloc(0), Buffer.alloc(parts.padding ?? 0)];
  writeFileSync(path, Buffer.concat([...head, ...counts, ...tail]));
  return path;
}

/** An entry's key, type and whatever follows. */
export function entry(key: string, type: number, ...value: Buffer[]): Buffer {
  const name = Buffer.from(key);
  return Buffer.concat([u64(BigInt(name.length)), name, word(type), ...value]);
}

export { u64, word };
