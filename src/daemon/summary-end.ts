import { join } from "node:path";
import { readTextIfThere } from "../core/files.ts";
import { parseJsonLenient } from "../core/json.ts";

/** How a submission ended, as its `summary.json` says. */
export interface SubmissionEnd {
  at_ms: number;
  /** What was said of entries that did not end well, by index. */
  errors: Map<number, string>;
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** Null where not all of the submission in `directory` had ended, or where nobody can read that. */
export function endOf(directory: string): SubmissionEnd | null {
  const text = readTextIfThere(join(directory, "summary.json"));
  const summary = text === undefined ? null : parseJsonLenient(text);
  if (valueAt(summary, "state") !== "done") return null;
  const at_ms = Date.parse(String(valueAt(summary, "ended")));
  const errors = new Map<number, string>();
  const entries = valueAt(summary, "entries");
  for (const entry of Array.isArray(entries) ? (entries as unknown[]) : []) {
    const [index, error] = [valueAt(entry, "index"), valueAt(entry, "error")];
    if (typeof index === "number" && typeof error === "string") errors.set(index, error);
  }
  return { at_ms: Number.isNaN(at_ms) ? 0 : at_ms, errors };
}
