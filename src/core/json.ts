import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [key: string]: JsonValue };

/** Canonical JSON (RFC 8785): one text for one value, so that its hash means its content. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("value has no JSON form");
  return text;
}

export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** SHA-256 of the canonical JSON of `value`, in hex. */
export function contentHash(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/**
 * One line of JSON. `JSON.stringify` turns NaN and the infinities into `null`, which is what a
 * record wants: unknown is null and never a text that a strict parser refuses.
 */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** Readable JSON for files that people open. */
export function prettyJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/**
 * Parses one line written by an older program of this family, which wrote bare `NaN` and
 * `Infinity`. They become null. Anything else that is not JSON gives undefined.
 */
export function parseJsonLenient(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // Strings are matched first so that a "NaN" inside a text is left alone.
    const repaired = line.replaceAll(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (match) =>
      match.startsWith('"') ? match : "null",
    );
    try {
      return JSON.parse(repaired);
    } catch {
      return undefined;
    }
  }
}
