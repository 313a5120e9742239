/** Types of metadata values, by the numbers that GGUF gives them. */
const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;

export type GgufValue =
  | { type: "u32" | "i32" | "f32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "array"; of: "i32" | "f32"; values: readonly number[] }
  | { type: "array"; of: "string"; values: readonly string[] };

export type TensorType = "f32" | "f16";

export interface TensorHeader {
  name: string;
  /** Width of a row first, as GGUF counts. */
  dimensions: readonly number[];
  type: TensorType;
}

/** Numbers of the two tensor types used here, and how wide they are. */
const TENSOR_TYPE = { f32: 0, f16: 1 } as const;
const BYTES = { f32: 4, f16: 2 } as const;

const VERSION = 3;
const ALIGNMENT = 32;

/** Rounds a number of bytes up to where the next tensor may begin. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

export function elementCount(tensor: TensorHeader): number {
  return tensor.dimensions.reduce((product, n) => product * n, 1);
}

function tensorBytes(tensor: TensorHeader): number {
  return elementCount(tensor) * BYTES[tensor.type];
}

class Bytes {
  readonly #parts: Buffer[] = [];

  raw(bytes: Buffer): void {
    this.#parts.push(bytes);
  }

  number(type: "u32" | "i32" | "f32", value: number): void {
    const bytes = Buffer.alloc(4);
    if (type === "f32") bytes.writeFloatLE(value);
    else if (type === "i32") bytes.writeInt32LE(value);
    else bytes.writeUInt32LE(value);
    this.#parts.push(bytes);
  }

  u64(value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    this.#parts.push(bytes);
  }

  string(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    this.u64(bytes.length);
    this.#parts.push(bytes);
  }

  value(entry: GgufValue): void {
    this.number("u32", TYPE[entry.type]);
    if (entry.type === "string") this.string(entry.value);
    else if (entry.type === "bool") this.raw(Buffer.from([entry.value ? 1 : 0]));
    else if (entry.type === "array") this.#array(entry);
    else this.number(entry.type, entry.value);
  }

  #array(entry: Extract<GgufValue, { type: "array" }>): void {
    this.number("u32", TYPE[entry.of]);
    this.u64(entry.values.length);
    if (entry.of === "string") for (const text of entry.values) this.string(text);
    else for (const number of entry.values) this.number(entry.of, number);
  }

  join(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/**
 * The head of a GGUF file (version 3), padded to where the first tensor begins. The tensors' data
 * must follow in the order of `tensors`, each padded to `aligned`.
 */
export function ggufHeader(
  metadata: readonly (readonly [key: string, value: GgufValue])[],
  tensors: readonly TensorHeader[],
): Buffer {
  const bytes = new Bytes();
  bytes.raw(Buffer.from("GGUF"));
  bytes.number("u32", VERSION);
  bytes.u64(tensors.length);
  bytes.u64(metadata.length);
  for (const [key, value] of metadata) {
    bytes.string(key);
    bytes.value(value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    bytes.string(tensor.name);
    bytes.number("u32", tensor.dimensions.length);
    for (const dimension of tensor.dimensions) bytes.u64(dimension);
    bytes.number("u32", TENSOR_TYPE[tensor.type]);
    bytes.u64(offset);
    offset += aligned(tensorBytes(tensor));
  }
  return padded(bytes.join());
}

/** `bytes` with zeros behind it up to the next boundary. */
export function padded(bytes: Buffer): Buffer {
  const size = aligned(bytes.length);
  return size === bytes.length ? bytes : Buffer.concat([bytes], size);
}
