import { errorMessage } from "../core/errors.ts";
import { CHECK_LIMIT_MS, CheckWorker } from "./check-worker.ts";
import { compileSchema } from "./json-schema.ts";
import type { PackCheck } from "./pack.ts";
import type { CheckResult } from "./records.ts";

/**
 * What is wrong with a check itself, or null. Asked when a pack is loaded, so that a bad pattern
 * is found before the night and not in it.
 */
export function checkFaults(check: PackCheck): string | null {
  try {
    if ("regex" in check) void new RegExp(check.regex, check.flags ?? "");
    if ("json_schema" in check) compileSchema(check.json_schema);
    return null;
  } catch (error) {
    return `${checkKind(check)}: ${errorMessage(error)}`;
  }
}

function checkKind(check: PackCheck): string {
  if ("contains" in check) return "contains";
  if ("regex" in check) return "regex";
  if ("json_schema" in check) return "json_schema";
  if ("max_words" in check) return "max_words";
  return "equals";
}

/** Words as a person counts them: what stands between white space. */
export function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}

/** The JSON value an answer consists of, bare or in its first ``` fence; undefined for none. */
export function answeredJson(text: string): { value: unknown } | undefined {
  const fence = /^ {0,3}(?:```|~~~)[^\n]*\n([\s\S]*?)^ {0,3}(?:```|~~~)/m.exec(text)?.[1];
  for (const candidate of [text, fence]) {
    if (candidate === undefined) continue;
    try {
      return { value: JSON.parse(candidate) as unknown };
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

function verdict(passed: boolean, reason: string): Omit<CheckResult, "kind"> {
  return { passed, reason: passed ? null : reason };
}

async function decide(
  check: PackCheck,
  text: string,
  worker: CheckWorker,
): Promise<Omit<CheckResult, "kind">> {
  if ("contains" in check) {
    return verdict(text.includes(check.contains), `does not contain ${quoted(check.contains)}`);
  }
  if ("max_words" in check) {
    const words = countWords(text);
    return verdict(words <= check.max_words, `${words} words, allowed ${check.max_words}`);
  }
  if ("equals" in check) {
    return verdict(text.trim() === check.equals.trim(), `is not ${quoted(check.equals)}`);
  }
  if ("regex" in check) {
    const flags = check.flags ?? "";
    return settle(await worker.ask({ kind: "regex", pattern: check.regex, flags, text }));
  }
  const json = answeredJson(text);
  if (json === undefined) return verdict(false, "is not JSON");
  const { json_schema: schema } = check;
  return settle(await worker.ask({ kind: "json_schema", schema, value: json.value }));
}

function settle(outcome: Awaited<ReturnType<CheckWorker["ask"]>>): Omit<CheckResult, "kind"> {
  if ("fault" in outcome) return { passed: null, reason: outcome.fault };
  return { passed: outcome.passed, reason: outcome.reason };
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/**
 * Decides each check on one answer, in order. `text` null says that there is no answer to decide
 * on. What cannot be decided has `passed` null and says why; this never throws for an answer.
 */
export async function runChecks(
  checks: readonly PackCheck[],
  text: string | null,
  limit_ms: number = CHECK_LIMIT_MS,
): Promise<CheckResult[]> {
  const worker = new CheckWorker(limit_ms);
  const results: CheckResult[] = [];
  try {
    for (const check of checks) {
      const result =
        text === null
          ? { passed: null, reason: "there is no answer" }
          : await decide(check, text, worker);
      results.push({ kind: checkKind(check), ...result });
    }
  } finally {
    await worker.close();
  }
  return results;
}
