import leven from "leven";
import { LineCounter, isMap, isScalar, parseDocument, visit, type Document, type Node } from "yaml";
import { z } from "zod";
import { inputError, type TouchstonedError } from "./errors.ts";
import { printable } from "./text.ts";
import { nestingBound } from "./yaml-depth.ts";

/** Deeper nesting than this is refused before the parser sees it: it can abort the whole process. */
export const MAX_DEPTH = 32;
/** Each alias may stand for a whole tree, and aliases of aliases multiply. */
const MAX_ALIASES = 100;

/** A place in a text, both counted from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

/** One thing that is wrong in a file. */
export interface Finding {
  message: string;
  /** Path of keys to the value, `entries.0.pack`; empty for the whole file. */
  path: string;
  position: TextPosition | null;
  hint: string | null;
}

/** A parsed file that can say where each of its values stands. */
export interface ParsedText {
  value: unknown;
  /** Where the value (or, with `at: "key"`, its key) at `path` stands; the nearest parent's place
   *  where the value itself is absent. */
  position(path: readonly PropertyKey[], at?: "key" | "value"): TextPosition | null;
}

function placeOf(counter: LineCounter, offset: number | undefined): TextPosition | null {
  if (offset === undefined) return null;
  const { line, col } = counter.linePos(offset);
  return { line, column: col };
}

function keyNode(document: Document, path: readonly PropertyKey[]): Node | undefined {
  const parent = document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const wanted = String(path.at(-1));
  for (const pair of parent.items) {
    if (isScalar(pair.key) && String(pair.key.value) === wanted) return pair.key;
  }
  return undefined;
}

function refuseDuplicateKeys(document: Document, counter: LineCounter, file: string): void {
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name)) {
          const place = formatPlace(file, placeOf(counter, key.range?.[0]));
          throw inputError(
            `${place}: the key "${printable(name)}" is there twice`,
            "Keep one of the two: which of them counts is not defined.",
            "duplicate_key",
          );
        }
        seen.add(name);
      }
    },
  });
}

/** `FILE:LINE:COLUMN` as editors and terminals understand it. */
export function formatPlace(file: string, position: TextPosition | null): string {
  return position === null ? file : `${file}:${position.line}:${position.column}`;
}

/**
 * Parses YAML 1.2 or JSON. This is the only place in the program where either is read from a
 * person's file. Throws an input error (exit 64) that names file, line and column.
 */
export function parseText(text: string, file: string): ParsedText {
  if (nestingBound(text) > MAX_DEPTH) {
    throw inputError(
      `${file}: nested deeper than ${MAX_DEPTH} levels`,
      "A file of this kind needs about six levels; look for unclosed brackets.",
      "too_deep",
    );
  }
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    // The library compares each key with each other one: a file of 30,000 keys takes minutes.
    uniqueKeys: false,
    prettyErrors: false,
  });
  // A warning is a tag that nobody here knows: the value would silently be another one than meant.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const position = placeOf(counter, problem.pos[0]);
    if (problem.code === "MULTIPLE_DOCS") {
      throw inputError(
        `${formatPlace(file, position)}: a second document begins here`,
        "A file of this kind has one: take the `---` away, or make two files of it.",
        "bad_yaml",
      );
    }
    throw inputError(
      `${formatPlace(file, position)}: not valid YAML: ${printable(problem.message)}`,
      "Check the indentation and quotes around that place.",
      "bad_yaml",
    );
  }
  refuseDuplicateKeys(document, counter, file);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw inputError(
      `${file}: too many aliases (over ${MAX_ALIASES} expansions)`,
      "Write the values out instead of repeating an anchor.",
      error instanceof ReferenceError ? "alias_bomb" : "bad_yaml",
    );
  }
  return {
    value,
    position(path, at = "value") {
      if (at === "key") {
        const key = keyNode(document, path);
        if (key?.range) return placeOf(counter, key.range[0]);
      }
      for (let length = path.length; length >= 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true) as Node | undefined;
        if (node?.range) return placeOf(counter, node.range[0]);
      }
      return null;
    },
  };
}

/** The known key that a person most likely meant, or undefined where none is near. */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(key.length / 3)) + 1;
  for (const candidate of known) {
    const distance = leven(key.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** All keys that the JSON Schema of `schema` knows at `path`, through arrays and unions. */
function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  type Shape = {
    properties?: Record<string, Shape>;
    items?: Shape;
    anyOf?: Shape[];
    oneOf?: Shape[];
    additionalProperties?: Shape | boolean;
  };
  let level: Shape[] = [
    z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as Shape,
  ];
  const widen = (shapes: Shape[]): Shape[] =>
    shapes.flatMap((shape) => [shape, ...widen(shape.anyOf ?? []), ...widen(shape.oneOf ?? [])]);
  for (const step of path) {
    level = widen(level).flatMap((shape) => {
      if (typeof step === "number") return shape.items === undefined ? [] : [shape.items];
      const property = shape.properties?.[String(step)];
      if (property !== undefined) return [property];
      return typeof shape.additionalProperties === "object" ? [shape.additionalProperties] : [];
    });
  }
  return [...new Set(widen(level).flatMap((shape) => Object.keys(shape.properties ?? {})))];
}

function findingsOf(issue: z.core.$ZodIssue, schema: z.ZodType, parsed: ParsedText): Finding[] {
  if (issue.code === "unrecognized_keys") {
    const known = knownKeys(schema, issue.path);
    return issue.keys.map((key) => {
      const nearest = nearestKey(key, known);
      return {
        message: `unknown key "${printable(key)}"`,
        path: issue.path.join("."),
        position: parsed.position([...issue.path, key], "key"),
        hint:
          nearest === undefined
            ? `Known keys here: ${known.join(", ")}.`
            : `Did you mean "${nearest}"?`,
      };
    });
  }
  if (issue.code === "invalid_union") {
    // The branch that got furthest says what is wrong; "invalid input" says nothing.
    const branches = issue.errors.map((errors) =>
      errors.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })),
    );
    const deepest = branches.toSorted((a, b) => depth(b) - depth(a))[0];
    if (deepest !== undefined && depth(deepest) > issue.path.length) {
      return deepest.flatMap((inner) => findingsOf(inner, schema, parsed));
    }
  }
  return [
    {
      message: issue.message,
      path: issue.path.join("."),
      position: parsed.position(issue.path),
      hint: null,
    },
  ];
}

function depth(issues: readonly { path: PropertyKey[]; code?: string | undefined }[]): number {
  return Math.max(
    0,
    ...issues.map((issue) => issue.path.length + (issue.code === "unrecognized_keys" ? 1 : 0)),
  );
}

/** Checks a parsed text against a schema and collects everything that is wrong with it. */
export function checkShape<S extends z.ZodType>(
  parsed: ParsedText,
  schema: S,
): { ok: true; value: z.output<S> } | { ok: false; findings: Finding[] } {
  const result = schema.safeParse(parsed.value);
  if (result.success) return { ok: true, value: result.data };
  const findings = result.error.issues.flatMap((issue) => findingsOf(issue, schema, parsed));
  return { ok: false, findings };
}

/** The one error for all findings of a file: the first as message, the rest as lines below it. */
export function findingsError(
  file: string,
  findings: readonly Finding[],
  code = "bad_input",
): TouchstonedError {
  const lines = findings.map((finding) => {
    const where = finding.path === "" ? "" : `${finding.path}: `;
    const hint = finding.hint === null ? "" : ` ${finding.hint}`;
    return `${formatPlace(file, finding.position)}: ${where}${finding.message}.${hint}`;
  });
  return inputError(lines.join("\n"), undefined, code);
}

/** Parses and checks in one go. Throws an input error that lists everything that is wrong. */
export function parseFile<S extends z.ZodType>(text: string, file: string, schema: S): z.output<S> {
  const parsed = parseText(text, file);
  const checked = checkShape(parsed, schema);
  if (!checked.ok) throw findingsError(file, checked.findings);
  return checked.value;
}
