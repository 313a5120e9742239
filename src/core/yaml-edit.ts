import { isMap, isNode, isSeq, LineCounter, parseDocument } from "yaml";
import { configError } from "./errors.ts";
import { formatPlace, parseText } from "./yaml.ts";

/**
 * Adds `value` to the list at the top-level key `key` of a YAML text and leaves the rest as the
 * person wrote it, comments included. Makes the list where there is none. Gives the same text back
 * where the value is in the list already. Throws a configuration error (exit 78) where the text is
 * not valid or the key holds something else than a list.
 */
export function appendToList(text: string, file: string, key: string, value: string): string {
  parseText(text, file); // refuses what is not valid, or too deep to be parsed again here
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  if (document.contents !== null && !isMap(document.contents)) {
    throw configError(`${file}: not a mapping of settings`, "Compare with a fresh file of `init`.");
  }
  const list = document.get(key, true);
  if (isSeq(list)) {
    const known: unknown[] = list.toJSON();
    if (known.includes(value)) return text;
    // `[]` was a place to begin; entries of a line each are easier to read and to comment out.
    if (list.items.length === 0) list.flow = false;
    list.add(document.createNode(value));
  } else if (document.get(key) == null) {
    document.set(key, document.createNode([value]));
  } else {
    const start = isNode(list) ? list.range?.[0] : undefined;
    const place = start === undefined ? null : counter.linePos(start);
    throw configError(
      `${formatPlace(file, place && { line: place.line, column: place.col })}: ${key} is not a list`,
      'Write it as a list, one "- value" a line.',
    );
  }
  return document.toString({ lineWidth: 0 });
}
