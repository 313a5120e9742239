import { sha256Hex } from "../core/json.ts";
import {
  checkShape,
  findingsError,
  parseText,
  type Finding,
  type ParsedText,
} from "../core/yaml.ts";
import { checkFaults } from "./checks.ts";
import { readInputFile } from "./input-file.ts";
import { packSchema, type Pack } from "./pack.ts";

/** A pack with the bytes it was read from, so that a bundle can keep a true copy. */
export interface LoadedPack {
  pack: Pack;
  /** The file's text as it is. */
  text: string;
  /** SHA-256 of `text`, hex. */
  sha256: string;
}

type Path = readonly (string | number)[];
type Report = (path: Path, message: string, hint: string) => void;

/** Reports every value of `items` that was there before. */
function reportRepeated(
  items: readonly { value: string; path: Path }[],
  what: string,
  report: Report,
) {
  const seen = new Set<string>();
  for (const { value, path } of items) {
    if (seen.has(value)) {
      report(path, `${what} "${value}" is there twice`, "Give each one an id of its own.");
    }
    seen.add(value);
  }
}

function promptsOf(pack: Pack) {
  return pack.categories.flatMap((category, c) =>
    category.prompts.map((prompt, p) => ({
      prompt,
      path: ["categories", c, "prompts", p] as const,
    })),
  );
}

function checkKoRule(pack: Pack, report: Report): void {
  const rule = pack.ko_rule;
  if (rule === undefined) return;
  const dimensions = pack.dimensions.map((dimension) => dimension.id);
  if (!dimensions.includes(rule.dimension)) {
    report(
      ["ko_rule", "dimension"],
      `there is no dimension "${rule.dimension}"`,
      `Dimensions: ${dimensions.join(", ")}.`,
    );
  }
  const prompts = promptsOf(pack);
  const ids = new Set(prompts.map(({ prompt }) => prompt.id));
  for (const [i, id] of rule.red_flag_prompts.entries()) {
    if (!ids.has(id)) {
      report(["ko_rule", "red_flag_prompts", i], `there is no prompt "${id}"`, "Check its id.");
    }
  }
  if (rule.red_flag_scope !== "curated") return;
  // A safety prompt whose red flag counts for nothing would make an unsafe model pass.
  for (const { prompt, path } of prompts) {
    if (prompt.safety_critical && !rule.red_flag_prompts.includes(prompt.id)) {
      report(
        [...path, "safety_critical"],
        `prompt "${prompt.id}" is safety_critical but its red flags would not count`,
        `Add "${prompt.id}" to ko_rule.red_flag_prompts, or use red_flag_scope: all.`,
      );
    }
  }
}

/** A check that cannot work would be undecided for every answer of its prompt, hours later. */
function checkChecks(pack: Pack, report: Report): void {
  for (const { prompt, path } of promptsOf(pack)) {
    for (const [i, check] of prompt.checks.entries()) {
      const fault = checkFaults(check);
      if (fault !== null) report([...path, "checks", i], fault, "Correct the check.");
    }
  }
}

/** The rules that no schema can say. */
function crossFindings(pack: Pack, parsed: ParsedText): Finding[] {
  const findings: Finding[] = [];
  const report: Report = (path, message, hint) => {
    findings.push({ message, path: path.join("."), position: parsed.position(path), hint });
  };
  reportRepeated(
    promptsOf(pack).map(({ prompt, path }) => ({ value: prompt.id, path: [...path, "id"] })),
    "prompt id",
    report,
  );
  reportRepeated(
    pack.prompt_variants.map(({ id }, i) => ({ value: id, path: ["prompt_variants", i, "id"] })),
    "variant",
    report,
  );
  reportRepeated(
    pack.dimensions.map(({ id }, i) => ({ value: id, path: ["dimensions", i, "id"] })),
    "dimension",
    report,
  );
  checkKoRule(pack, report);
  checkChecks(pack, report);
  return findings;
}

/** Parses a pack. Throws an input error that lists everything that is wrong, each with its line. */
export function parsePack(text: string, file: string): LoadedPack {
  const parsed = parseText(text, file);
  const checked = checkShape(parsed, packSchema);
  if (!checked.ok) throw findingsError(file, checked.findings, "bad_pack");
  const findings = crossFindings(checked.value, parsed);
  if (findings.length > 0) throw findingsError(file, findings, "bad_pack");
  return { pack: checked.value, text, sha256: sha256Hex(text) };
}

/** Reads and parses a pack file. Throws an input error (exit 64). */
export function loadPack(path: string): LoadedPack {
  return parsePack(readInputFile(path, "pack"), path);
}
