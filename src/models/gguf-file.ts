import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { GGUFParseOutput } from "@huggingface/gguf";
import { errorMessage, inputError, systemErrorCode } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import { checkGgufHead } from "./gguf-head.ts";
import { expertShare, kvElementsPerToken, numberAt, textAt, type Metadata } from "./gguf-facts.ts";

/** What the header of a model's file (or files, where it is split) tells. */
export interface GgufFacts {
  /** All parts, in order; the one that was named alone where it is not split. */
  files: string[];
  /** Bytes of all parts. */
  size_bytes: number;
  /** Of the part that was changed last, milliseconds since the epoch. */
  mtime_ms: number;
  name: string | null;
  architecture: string;
  parameters: number;
  /** Of a mixture of experts: what one token goes through. Else all. */
  active_parameters: number;
  /** Lower case, `q4_k_m`. */
  quantization: string;
  context_length: number | null;
  /** Numbers that the cache keeps for each token of context, all layers; null where not told. */
  kv_elements_per_token: number | null;
}

type Parsed = GGUFParseOutput & { parameterCount: number };

const SPLIT = /^(?<prefix>.+)-(?<part>\d{5})-of-(?<total>\d{5})\.gguf$/;

/** Paths of all parts of a split model, whichever of them was named. */
export function partsOf(path: string): string[] {
  const { prefix, total } = SPLIT.exec(basename(path))?.groups ?? {};
  const count = Number(total);
  if (prefix === undefined || !(count > 1)) return [path];
  return Array.from({ length: count }, (_, i) =>
    join(dirname(path), `${prefix}-${String(i + 1).padStart(5, "0")}-of-${total}.gguf`),
  );
}

/** Size and time of a regular file; an input error where it is something else, or not there. */
function statFile(path: string) {
  let stat;
  try {
    stat = statSync(path);
  } catch (error) {
    const code = systemErrorCode(error) ?? "unknown error";
    throw inputError(
      `${path}: cannot read this model (${code})`,
      "Check the path.",
      "no_such_file",
    );
  }
  // A named pipe would be waited for, for ever.
  if (!stat.isFile()) throw inputError(`${path}: is not a file`, "Name a GGUF file.", "not_a_file");
  return stat;
}

/** The library bounds counts, strings and arrays (50 MB of header in all) and throws beyond them. */
async function parseHeader(path: string, size: number): Promise<Parsed> {
  checkGgufHead(path);
  const { gguf } = await import("@huggingface/gguf");
  let parsed: Parsed;
  try {
    // An absolute path is never taken for a URL.
    parsed = await gguf(resolve(path), { allowLocalFile: true, computeParametersCount: true });
  } catch (error) {
    throw inputError(
      `${path}: cannot read its header: ${printable(errorMessage(error))}`,
      "The file is damaged, or cut off. Get it again.",
      "bad_gguf",
    );
  }
  // Beyond the end of the file the library reads zeros.
  if (parsed.tensorInfoByteRange[1] > size) {
    throw inputError(`${path} ends inside its header`, "Get it again.", "bad_gguf");
  }
  const last = parsed.tensorInfos.reduce((max, { offset }) => (offset > max ? offset : max), 0n);
  if (parsed.tensorInfos.length > 0 && parsed.tensorDataOffset + last >= BigInt(size)) {
    throw inputError(`${path} ends before its last tensor`, "Get it again.", "bad_gguf");
  }
  return parsed;
}

/** What llama.cpp says the file is, else what most of its numbers are stored as. */
async function quantizationOf(metadata: Metadata, parts: readonly Parsed[]): Promise<string> {
  const { GGMLFileQuantizationType, GGMLQuantizationType } = await import("@huggingface/gguf");
  const type = numberAt(metadata, "general.file_type");
  const told = type === null ? undefined : GGMLFileQuantizationType[type];
  if (told !== undefined) return told.toLowerCase();
  const sizes = new Map<number, number>();
  for (const { shape, dtype } of parts.flatMap(({ tensorInfos }) => tensorInfos)) {
    const elements = shape.reduce((product, n) => product * Number(n), 1);
    sizes.set(dtype, (sizes.get(dtype) ?? 0) + elements);
  }
  const [most] = [...sizes].toSorted(([, a], [, b]) => b - a);
  const name = most === undefined ? undefined : GGMLQuantizationType[most[0]];
  return (name ?? "unknown").toLowerCase();
}

/**
 * Reads the header of a GGUF file; of all parts where it is split. Memory and time are bounded
 * whatever the file says. Throws an input error (exit 64) that names the file and what is wrong.
 */
export async function readGguf(path: string): Promise<GgufFacts> {
  const files = partsOf(path);
  const stats = files.map((file) => statFile(file));
  const parts: Parsed[] = [];
  for (const [i, file] of files.entries()) parts.push(await parseHeader(file, stats[i]?.size ?? 0));
  const metadata = (parts[0]?.metadata ?? {}) as Metadata;
  const architecture = textAt(metadata, "general.architecture");
  if (architecture === null) {
    throw inputError(
      `${path}: its header names no architecture`,
      "A file of weights alone (an adapter, a projector) is no model.",
      "bad_gguf",
    );
  }
  const parameters = parts.reduce((sum, part) => sum + part.parameterCount, 0);
  if (parameters === 0) {
    throw inputError(`${path}: holds no tensors`, "A vocabulary alone is no model.", "bad_gguf");
  }
  const tensors = parts.flatMap(({ tensorInfos }) => tensorInfos);
  return {
    files,
    size_bytes: stats.reduce((sum, { size }) => sum + size, 0),
    mtime_ms: Math.max(...stats.map(({ mtimeMs }) => Math.floor(mtimeMs))),
    name: textAt(metadata, "general.name"),
    architecture,
    parameters,
    active_parameters: Math.round(parameters - expertShare(metadata, architecture, tensors)),
    quantization: await quantizationOf(metadata, parts),
    context_length: numberAt(metadata, `${architecture}.context_length`),
    kv_elements_per_token: kvElementsPerToken(metadata, architecture),
  };
}
