import { isObject } from "../core/is-object.ts";

/** Longest part of a judge's reply that is looked at; what is longer has run away anyway. */
const MAX_REPLY = 200_000;
/** Opening braces that are tried; bounds the work on a reply that is nothing but braces. */
const MAX_CANDIDATES = 300;

export type JsonObject = Record<string, unknown>;

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Index behind the brace that closes the one at `start`, strings respected; -1 for none. */
function balancedEnd(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/**
 * All JSON objects in a reply that `wanted` accepts, outermost first come, in their order. The
 * reply may be bare JSON, stand in a fence, come after a `</think>` or be surrounded by prose with
 * braces of its own. What ends before the last `</think>`, or stands in a thought that never
 * ended, was a draft and does not count.
 */
export function findObjects(reply: string, wanted: (object: JsonObject) => boolean): JsonObject[] {
  const text = reply.slice(0, MAX_REPLY);
  const whole = parseObject(text);
  if (whole !== undefined && wanted(whole)) return [whole];
  const thoughtEnd = text.lastIndexOf("</think>");
  if (thoughtEnd < 0 && text.trimStart().startsWith("<think>")) return [];
  const found: JsonObject[] = [];
  // Behind the thought first, so that braces in a long thought cannot use up the tries.
  for (const from of thoughtEnd < 0 ? [0] : [thoughtEnd, 0]) {
    let tries = 0;
    for (let at = text.indexOf("{", from); at >= 0 && tries < MAX_CANDIDATES; tries += 1) {
      const end = balancedEnd(text, at);
      const object = end > thoughtEnd ? parseObject(text.slice(at, end)) : undefined;
      const accepted = object !== undefined && wanted(object);
      if (accepted) found.push(object);
      at = text.indexOf("{", accepted ? end : at + 1);
    }
    if (found.length > 0) return found;
  }
  return found;
}

/** Half to even, as touchstone rounds. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** A score from 1 to 5 from what a judge wrote; null for what is not a number inside the scale. */
export function parseScore(value: unknown): number | null {
  const isNumeral = typeof value === "string" && /^\s*[+-]?\d+(?:\.\d+)?\s*$/.test(value);
  const number = isNumeral ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return null;
  // touchstone pulled such a score to the nearer end: a judge that marks from 0 to 10 then finds
  // everything excellent. It is unreadable instead, and the judge is asked once more.
  const rounded = roundHalfEven(number);
  return rounded >= 1 && rounded <= 5 ? rounded : null;
}

const YES = new Set<unknown>([true, 1, "true", "yes", "1"]);
const NO = new Set<unknown>([false, 0, "false", "no", "0", "none", ""]);

/** A yes or no from what a judge wrote; null for what is neither. The text "false" is a no. */
export function parseFlag(value: unknown): boolean | null {
  const plain = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (YES.has(plain)) return true;
  return NO.has(plain) ? false : null;
}

export interface ParsedVerdict {
  score: number;
  red_flag: boolean;
  rationale: string;
}

/** A verdict, or what is wrong with the reply in words that the judge itself can act on. */
export type VerdictReading = { ok: true; verdict: ParsedVerdict } | { ok: false; fault: string };

export function parseVerdict(reply: string): VerdictReading {
  const objects = findObjects(reply, (object) => Object.hasOwn(object, "score"));
  if (objects.length === 0) return { ok: false, fault: 'there is no JSON object with "score"' };
  const verdicts: ParsedVerdict[] = [];
  for (const object of objects) {
    const score = parseScore(object["score"]);
    if (score === null) return { ok: false, fault: '"score" is not a number from 1 to 5' };
    const red_flag = parseFlag(object["red_flag"]);
    if (red_flag === null) return { ok: false, fault: '"red_flag" is neither true nor false' };
    verdicts.push({ score, red_flag, rationale: plainText(object["rationale"]) });
  }
  const last = verdicts.at(-1);
  // A judge may quote an answer that looks like a verdict: then nobody can say which one counts.
  if (last === undefined || verdicts.some((other) => differs(other, last))) {
    return { ok: false, fault: "there are several verdicts that differ" };
  }
  return { ok: true, verdict: last };
}

function differs(a: ParsedVerdict, b: ParsedVerdict): boolean {
  return a.score !== b.score || a.red_flag !== b.red_flag;
}

/** Longest rationale that is kept. */
const MAX_RATIONALE = 2000;

function plainText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.trim().slice(0, MAX_RATIONALE);
}

export interface ParsedReport {
  dim_scores: Record<string, number>;
  dim_rationales: Record<string, string>;
}

/**
 * The report of a holistic reply: an object with dimension ids as keys and `{score, rationale}` or
 * a bare number as values, also one level down. Dimensions without a usable score are left out,
 * their rationale is kept. null where no dimension has a score.
 */
export function parseReport(reply: string, dimensions: readonly string[]): ParsedReport | null {
  const readings = findObjects(reply, (object) =>
    dimensions.some((id) => Object.hasOwn(object, id) && dimensionScore(object[id]) !== null),
  ).map((object) => readReport(object, dimensions));
  // The fullest one: a judge may begin with an example.
  const count = (report: ParsedReport): number => Object.keys(report.dim_scores).length;
  return readings.toSorted((a, b) => count(b) - count(a))[0] ?? null;
}

function dimensionScore(value: unknown): number | null {
  return parseScore(isObject(value) ? value["score"] : value);
}

function readReport(object: JsonObject, dimensions: readonly string[]): ParsedReport {
  const scores: [string, number][] = [];
  const rationales: [string, string][] = [];
  for (const id of dimensions) {
    if (!Object.hasOwn(object, id)) continue;
    const value = object[id];
    const score = dimensionScore(value);
    if (score !== null) scores.push([id, score]);
    const rationale = isObject(value) ? plainText(value["rationale"]) : "";
    if (rationale !== "") rationales.push([id, rationale]);
  }
  return {
    dim_scores: Object.fromEntries(scores),
    dim_rationales: Object.fromEntries(rationales),
  };
}
