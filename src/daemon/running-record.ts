import { unlinkSync } from "node:fs";
import { z } from "zod";
import { systemErrorCode } from "../core/errors.ts";
import { readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";

const recordSchema = z.object({
  schema_version: z.literal(1),
  job_id: z.string(),
  fence: z.int(),
  kind: z.enum(["load", "eval", "judge"]),
  /** Wall clock, milliseconds. */
  started_ms: z.number(),
  log_path: z.string(),
  /** Carried in the environment by every process of the step. */
  token: z.string().min(1),
  /** null: the step was about to be started. */
  root: z
    .object({ pid: z.int().positive(), start_token: z.string(), boot_id: z.string() })
    .nullable(),
  /** Its runner was started by the daemon and has died with it. */
  own_runner: z.boolean(),
});

/** `running.json`: the step that runs. Durable before the step gets its first instruction. */
export type RunningRecord = z.output<typeof recordSchema>;

export function writeRunning(path: string, record: RunningRecord): void {
  writeFileAtomic(path, prettyJson(record), 0o600);
}

/** Undefined where nothing ran, or where nobody can read it. */
export function readRunning(path: string): RunningRecord | undefined {
  const text = readTextIfThere(path);
  return text === undefined ? undefined : recordSchema.safeParse(parseJsonLenient(text)).data;
}

export function dropRunning(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}
