import { join } from "node:path";
import { readJsonLines, readTextIfThere } from "../core/files.ts";
import { parseJsonLenient } from "../core/json.ts";
import {
  stepsFileSchema,
  type Attempt,
  type EntryResult,
  type EntrySummary,
  type QueueEntry,
  type StepRecord,
  type StepStatus,
} from "../queue/index.ts";
import { readLoad } from "../eval/index.ts";
import type { Rooms } from "./rooms.ts";

/** What `steps.json` of a bundle says; empty where there is none or it is another entry's. */
export function readAttempts(bundle_dir: string, key: string): Attempt[] {
  const text = readTextIfThere(join(bundle_dir, "steps.json"));
  const file = stepsFileSchema.safeParse(text === undefined ? null : parseJsonLenient(text));
  return file.success && file.data.key === key ? file.data.attempts : [];
}

type Kind = StepRecord["kind"];

function recordsOf(attempts: readonly Attempt[], kind: Kind): StepRecord[] {
  return attempts.flatMap((attempt) => attempt.steps.filter((step) => step.kind === kind));
}

/** Seconds that all runs of one step took, over all invocations; null where there was none. */
export function secondsOf(attempts: readonly Attempt[], kind: Kind): number | null {
  const records = recordsOf(attempts, kind);
  if (records.length === 0) return null;
  const sum = records.reduce((total, step) => total + step.seconds, 0);
  return Math.round(sum * 10) / 10;
}

/** Executions; what the user stopped is none. */
export function countAttempts(attempts: readonly Attempt[]): number {
  return attempts.filter((attempt) => !attempt.interrupted).length;
}

function late(step: StepRecord): boolean {
  return step.status === "timeout" || step.status === "stalled";
}

/** Executions that ran into a limit: those are tried twice at most, each may cost hours. */
export function countTimeouts(attempts: readonly Attempt[]): number {
  return attempts.filter((attempt) => attempt.steps.some((step) => late(step))).length;
}

/**
 * Status of a step as the bundle proves it, whatever was recorded: one that was killed right after its
 * work has done it, and a good one whose files are gone is to be done again.
 */
function provenStatus(
  attempts: readonly Attempt[],
  kind: "eval" | "judge",
  bundle_dir: string,
  rooms: Pick<Rooms, "stepFault">,
): StepStatus {
  if (rooms.stepFault(kind, bundle_dir, 0) === null) return "ok";
  const last = recordsOf(attempts, kind).at(-1);
  return last === undefined || last.status === "ok" ? "pending" : last.status;
}

/** Brings an entry's row in line with its bundle, which knows better than any summary. */
export function restoreEntry(
  row: EntrySummary,
  entry: QueueEntry,
  bundle_dir: string,
  rooms: Pick<Rooms, "stepFault">,
): void {
  const attempts = readAttempts(bundle_dir, entry.key);
  const last = attempts.at(-1);
  row.attempts = countAttempts(attempts);
  row.load_status = recordsOf(attempts, "load").at(-1)?.status ?? "pending";
  row.eval_status = provenStatus(attempts, "eval", bundle_dir, rooms);
  row.judge_status =
    entry.judge_config === null ? "skipped" : provenStatus(attempts, "judge", bundle_dir, rooms);
  row.load_seconds = secondsOf(attempts, "load");
  row.eval_seconds = secondsOf(attempts, "eval");
  row.judge_seconds = secondsOf(attempts, "judge");
  row.step = null;
  row.since = null;
  const judged = row.judge_status === "ok" || entry.judge_config === null;
  const bad = last?.steps.find((step) => !["ok", "not_applicable"].includes(step.status));
  row.status = row.eval_status === "ok" && judged ? "ok" : (bad?.status ?? "pending");
  if (row.status === "ok" || row.status === "pending") [row.error, row.advice] = [null, null];
  else [row.error, row.advice] = [bad?.error ?? row.error, bad?.advice ?? row.advice];
  row.result = attempts.length === 0 ? null : entryResult(bundle_dir);
}

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

function numberAt(row: unknown, key: string): number | null {
  const value: unknown = typeof row === "object" && row !== null ? Reflect.get(row, key) : null;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** What a bundle holds so far: answers, and medians over the good ones. The last row of a cell counts. */
export function entryResult(bundle_dir: string): EntryResult {
  const cells = new Map<string, Record<string, unknown>>();
  for (const row of readJsonLines(join(bundle_dir, "responses.jsonl"))) {
    if (typeof row !== "object" || row === null) continue;
    const cell = row as Record<string, unknown>;
    const key = JSON.stringify([cell["model"], cell["variant"], cell["prompt_id"], cell["repeat"]]);
    cells.set(key, cell);
  }
  const good = [...cells.values()].filter((cell) => cell["ok"] === true);
  // As the scorecard does it: the first answer pays for cold caches and stands apart.
  const warm = good.filter((cell) => cell["is_cold_start"] !== true);
  const middleOf = (key: string): number | null =>
    median(warm.flatMap((cell) => numberAt(cell, key) ?? []));
  const load = readLoad(bundle_dir);
  const start = readJsonLines(join(bundle_dir, "events.jsonl")).findLast(
    (event) =>
      typeof event === "object" && event !== null && Reflect.get(event, "type") === "run_start",
  );
  return {
    cells_total: numberAt(start, "total"),
    cells_ok: good.length,
    cells_failed: cells.size - good.length,
    ttft_s: middleOf("ttft_s"),
    decode_tps: middleOf("decode_tps"),
    e2e_s: middleOf("e2e_s"),
    load_s: load === null || load.residency === "fixed" ? null : load.duration_s,
    weights_delta_mb: load?.weights_delta_mb ?? null,
  };
}
