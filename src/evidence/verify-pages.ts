import { basename } from "node:path";
import { readTextIfThere } from "../core/files.ts";
import { packageVersion } from "../core/program.ts";
import { evidenceSvg } from "./chart.ts";
import { ending } from "./figures.ts";
import { evidenceMarkdown } from "./markdown.ts";
import type { Evidence } from "./schema.ts";

/** What page and chart say that the document does not. */
export interface PagesCheck {
  faults: string[];
  /** What another version of the program worded otherwise, and what is no fault. */
  notes: string[];
}

function digits(text: string): string {
  return (text.match(/\d+/g) ?? []).join(", ");
}

/** The numbers that a person acts on, as a page of any version has them, and what they must be. */
function numbersOf({ sweep, verdict }: Evidence): [name: string, find: RegExp, said: string][] {
  return [
    ["recommended", /^# (\d+) slots?:/gm, String(verdict.recommended)],
    ["recommended", /Recommended: *(\d+)/g, String(verdict.recommended)],
    ["max_safe", /Safe up to: *(\d+)/g, String(verdict.max_safe)],
    ["first_breach", /^Ended by: (.*)$/gm, digits(ending(sweep, verdict))],
  ];
}

function contradictions(page: string, evidence: Evidence): string[] {
  const found = numbersOf(evidence).flatMap(([name, find, said]) =>
    [...page.matchAll(find)]
      .map(([, text = ""]) => digits(text))
      .filter((shown) => shown !== said)
      .map((shown) => `${name} is ${said || "none"} in the document and ${shown || "none"} there`),
  );
  return [...new Set(found)];
}

/** A checkout may have the line ends of its system. */
function plainLines(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/**
 * Page and chart are made of the document: a person who reads them must not be told otherwise. Those
 * of this very version are made once more; of another one's the numbers that a person acts on count.
 */
export function checkPages(path: string, evidence: Evidence): PagesCheck {
  const stem = path.slice(0, -".json".length);
  const found: PagesCheck = { faults: [], notes: [] };
  const pages = [
    [".md", evidenceMarkdown(evidence, `${basename(stem)}.svg`)],
    [".svg", evidenceSvg(evidence)],
  ] as const;
  for (const [suffix, expected] of pages) {
    const text = readTextIfThere(`${stem}${suffix}`);
    if (text === undefined || plainLines(text) === expected) continue;
    const name = `${basename(stem)}${suffix}`;
    const wrong = suffix === ".md" ? contradictions(plainLines(text), evidence) : [];
    const why = wrong.length === 0 ? "" : `: ${wrong.join("; ")}`;
    if (evidence.touchstoned === packageVersion()) {
      found.faults.push(`${name} was edited: it is not what is made of the document${why}`);
    } else if (wrong.length > 0) {
      found.faults.push(`${name} contradicts the document${why}`);
    } else {
      found.notes.push(`${name} is not what this version makes of it`);
    }
  }
  return found;
}
