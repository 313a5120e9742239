import { readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { isObject } from "../../core/is-object.ts";
import { parseJsonLenient } from "../../core/json.ts";
import { NO_HISTORY, type IdleHistory } from "./history.ts";

function isTrouble(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value)) return false;
  const texts = [value["kind"], value["code"], value["why"], value["configuration"]];
  const times = [value["at_ms"], value["until_ms"], value["asked_ms"]];
  return texts.every((text) => typeof text === "string") && times.every(Number.isFinite);
}

function isKey(value: unknown): boolean {
  return (
    isObject(value) &&
    isObject(value["counts"]) &&
    Object.values(value["counts"]).every(Number.isSafeInteger) &&
    Number.isSafeInteger(value["deaths"]) &&
    isTrouble(value["trouble"])
  );
}

function isBegun(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value) || typeof value["key"] !== "string") return false;
  return [value["at_ms"], value["asked_ms"]].every(Number.isFinite);
}

function isOutbox(value: unknown): boolean {
  if (value === null) return true;
  return isObject(value) && ["tries", "at_ms", "until_ms"].every((n) => Number.isFinite(value[n]));
}

/** Checked by hand: the daemon reads it in its idle hours, and has no other use for a schema. */
function isHistory(value: unknown): value is IdleHistory {
  return (
    isObject(value) &&
    value["schema_version"] === 1 &&
    isObject(value["keys"]) &&
    Object.values(value["keys"]).every(isKey) &&
    isBegun(value["begun"]) &&
    isOutbox(value["outbox"]) &&
    (value["tidied_ms"] === null || Number.isFinite(value["tidied_ms"]))
  );
}

/** Nothing is remembered where nobody can read it: the next try will tell the same again. */
export function loadHistory(path: string): IdleHistory {
  const text = readTextIfThere(path);
  const value = text === undefined ? undefined : parseJsonLenient(text);
  return isHistory(value) ? value : NO_HISTORY;
}

export function saveHistory(path: string, history: IdleHistory): void {
  writeFileAtomic(path, `${JSON.stringify(history)}\n`, 0o600);
}
