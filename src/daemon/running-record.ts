import { unlinkSync } from "node:fs";
import { systemErrorCode } from "../core/errors.ts";
import { readTextIfThere, writeFileUnsynced } from "../core/files.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";
import type { ProcessIdentity } from "../core/process-table.ts";

/**
 * `running.json`: the step that runs. There before the step gets its first instruction, whoever is
 * killed; after a loss of power nothing runs any more, so the disk is not waited for.
 */
export interface RunningRecord {
  schema_version: 1;
  job_id: string;
  fence: number;
  kind: "load" | "eval" | "judge";
  /** Wall clock, milliseconds. */
  started_ms: number;
  log_path: string;
  /** Carried in the environment by every process of the step. */
  token: string;
  /** null: the step was about to be started. */
  root: ProcessIdentity | null;
  /** Its runner was started by the daemon and has died with it. */
  own_runner: boolean;
}

export function writeRunning(path: string, record: RunningRecord): void {
  writeFileUnsynced(path, prettyJson(record), 0o600);
}

function isIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { pid, start_token, boot_id } = value as Record<string, unknown>;
  const whole = typeof pid === "number" && Number.isSafeInteger(pid) && pid > 0;
  return whole && typeof start_token === "string" && typeof boot_id === "string";
}

/** Checked by hand: the daemon reads it at each start, and most have no other use for a schema. */
function isRecord(value: unknown): value is RunningRecord {
  if (typeof value !== "object" || value === null) return false;
  const one = value as Record<string, unknown>;
  return (
    one["schema_version"] === 1 &&
    [one["job_id"], one["log_path"], one["token"]].every((text) => typeof text === "string") &&
    one["token"] !== "" &&
    Number.isSafeInteger(one["fence"]) &&
    Number.isFinite(one["started_ms"]) &&
    ["load", "eval", "judge"].includes(String(one["kind"])) &&
    (one["root"] === null || isIdentity(one["root"])) &&
    typeof one["own_runner"] === "boolean"
  );
}

/** Undefined where nothing ran, or where nobody can read it. */
export function readRunning(path: string): RunningRecord | undefined {
  const text = readTextIfThere(path);
  const value = text === undefined ? undefined : parseJsonLenient(text);
  return isRecord(value) ? value : undefined;
}

export function dropRunning(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}
