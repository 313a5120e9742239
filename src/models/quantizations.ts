import { readFileSync } from "node:fs";
import { inputError } from "../core/errors.ts";
import { packageFile } from "../core/program.ts";
import { nearestKey } from "../core/yaml.ts";

let table: ReadonlyMap<string, number> | undefined;

/** Bits a weight of each quantization, as measured on real files; data/quantization.tsv has sources. */
function bitsPerWeight(): ReadonlyMap<string, number> {
  if (table !== undefined) return table;
  const rows = readFileSync(packageFile("data/quantization.tsv"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split("\t"));
  table = new Map(rows.map(([name = "", bits]) => [name, Number(bits)]));
  return table;
}

/** Names of the quantizations that are known, in lower case. */
export function knownQuantizations(): string[] {
  return [...bitsPerWeight().keys()];
}

/** Writers differ: `Q4_K_M`, `q4-k-m`, `BF16`, and what llama.cpp calls its file types. */
function plainName(quantization: string): string {
  const name = quantization.trim().toLowerCase().replaceAll("-", "_");
  return name.replace(/^(?:fp|float)(?=16$|32$)/, "f").replace(/^mxfp4_moe$/, "mxfp4");
}

/**
 * Bytes that one weight takes on the average in a file of that quantization. Throws an input error
 * (exit 64) with the nearest known name, and all of them, where it is not known: a guess would be
 * the number that a claim is decided by.
 */
export function bytesPerWeight(quantization: string): number {
  const name = plainName(quantization);
  const bits = bitsPerWeight().get(name);
  if (bits !== undefined) return bits / 8;
  const known = knownQuantizations();
  const nearest = nearestKey(name, known);
  const meant = nearest === undefined ? "" : `Did you mean "${nearest}"? `;
  throw inputError(
    `unknown quantization "${quantization}"`,
    `${meant}Known: ${known.join(", ")}.`,
    "unknown_quantization",
  );
}
