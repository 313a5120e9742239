import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** A recorded sample and what must be read of it, as the index beside the samples says. */
export interface Sample {
  path: string;
  tool: string;
  expected: Readonly<Record<string, string>>;
  text: string;
}

/** Reads one sample; what it gives is compared with the index by name. */
export type SampleReader = (sample: Sample) => Promise<Values> | Values;
type Values = Readonly<Record<string, unknown>>;

const FIXTURES = fileURLToPath(new URL("../fixtures/", import.meta.url));

function expectations(cell: string): Record<string, string> {
  const pairs = cell.split("; ").map((pair): [string, string] => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

/** The rows of `tests/fixtures/FOLDER/INDEX.tsv`; paths in it begin at `base`. */
export function samplesOf(folder: string, base = folder): Sample[] {
  const [, ...lines] = readFileSync(join(FIXTURES, folder, "INDEX.tsv"), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => {
    const [path = "", tool = "", , , expected = ""] = line.split("\t");
    const text = readFileSync(join(FIXTURES, base, path), "utf8");
    return { path, tool, expected: expectations(expected), text };
  });
}

/** All sample files of a folder, as their paths stand in its index. */
export function sampleFiles(folder: string, base = folder): string[] {
  return readdirSync(join(FIXTURES, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "INDEX.tsv")
    .map((entry) => relative(join(FIXTURES, base), join(entry.parentPath, entry.name)));
}

/** Numbers count by value (`26.20`, `0x4`), everything else by its letters. */
function same(actual: unknown, expected: string): boolean {
  if (typeof actual !== "number") return String(actual) === expected;
  return expected !== "" && Number(expected) === actual;
}

/** Where values differ from what the index says; a value that was not read at all is one of these. */
export async function differences(sample: Sample, read: SampleReader): Promise<string[]> {
  const values = await read(sample);
  return Object.entries(sample.expected)
    .filter(([name, expected]) => !same(values[name], expected))
    .map(([name, expected]) => `${name}: ${expected} expected, ${String(values[name])} read`);
}
