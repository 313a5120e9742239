import { z } from "zod";
import { JOB_STATES } from "./job.ts";

/**
 * What became of one step. `not_applicable`: the runner has nothing of the kind (a fixed one cannot
 * load); `interrupted`: the user stopped the run, which is nobody's fault.
 */
const stepStatusSchema = z.enum([
  "pending",
  "running",
  "ok",
  "failed",
  "timeout",
  "stalled",
  "skipped",
  "not_applicable",
  "interrupted",
]);
export type StepStatus = z.output<typeof stepStatusSchema>;

const resetRecordSchema = z.object({
  outcome: z.enum(["ok", "failed", "skipped", "not_applicable"]),
  /** `command`, `unload`, or `none` where resetting is switched off. */
  how: z.enum(["command", "unload", "none"]),
  reason: z.string().nullable(),
  duration_s: z.number(),
});
export type ResetRecord = z.output<typeof resetRecordSchema>;

/** Megabytes are 10^6 bytes; null is "could not be read". */
const settleRecordSchema = z.object({
  outcome: z.enum(["ok", "timeout", "not_applicable", "interrupted"]),
  reason: z.string().nullable(),
  waited_s: z.number(),
  polls: z.int(),
  initial_mb: z.number().nullable(),
  final_mb: z.number().nullable(),
  /** What the runner said last; null where it does not tell. */
  released: z.boolean().nullable(),
});
export type SettleRecord = z.output<typeof settleRecordSchema>;

/** One run of a step's child. */
const stepRecordSchema = z.object({
  kind: z.enum(["load", "eval", "judge"]),
  status: stepStatusSchema,
  /** RFC 3339, UTC. */
  started: z.string(),
  /** Running time without the time that the machine slept. */
  seconds: z.number(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  /** Why it did not end well. */
  error: z.string().nullable(),
  advice: z.string().nullable(),
  /** Processes that even SIGKILL did not end. */
  survivors: z.array(z.int()).default([]),
  /** How often the machine slept, or this program was stopped, meanwhile. */
  gaps: z.int().default(0),
  log: z.string().nullable(),
});
export type StepRecord = z.output<typeof stepRecordSchema>;

/** One execution of an entry; each invocation of `queue run` that touches it adds one. */
const attemptSchema = z.object({
  /** ULID of the invocation. */
  invocation: z.string(),
  started: z.string(),
  runner: z.string(),
  /** What happened to the runner, such as being started anew. */
  notes: z.array(z.string()).default([]),
  reset: resetRecordSchema.nullable().default(null),
  settle: settleRecordSchema.nullable().default(null),
  judge_reset: resetRecordSchema.nullable().default(null),
  judge_settle: settleRecordSchema.nullable().default(null),
  steps: z.array(stepRecordSchema).default([]),
  /** The user stopped it: counts as no attempt. */
  interrupted: z.boolean().default(false),
});
export type Attempt = z.output<typeof attemptSchema>;

/** `steps.json` of a bundle: what was done to it, in order. */
export const stepsFileSchema = z.object({
  schema_version: z.literal(1),
  index: z.int(),
  /** Content key of the entry; a bundle of another entry is not continued. */
  key: z.string(),
  attempts: z.array(attemptSchema),
});
export type StepsFile = z.output<typeof stepsFileSchema>;

/** Medians over the good answers of one bundle; null where no answer has the figure. */
const entryResultSchema = z.object({
  cells_total: z.int().nullable(),
  cells_ok: z.int(),
  cells_failed: z.int(),
  ttft_s: z.number().nullable(),
  decode_tps: z.number().nullable(),
  e2e_s: z.number().nullable(),
  load_s: z.number().nullable(),
  weights_delta_mb: z.number().nullable(),
});
export type EntryResult = z.output<typeof entryResultSchema>;

/** The job of an entry that is in the queue. */
const jobNoteSchema = z.object({
  id: z.string(),
  state: z.enum(JOB_STATES),
  /** Executions that failed. */
  attempts: z.int(),
  /** RFC 3339; null unless it is to be tried again. */
  retry_after: z.string().nullable(),
  held: z.boolean(),
});

const entrySummarySchema = z.object({
  index: z.int(),
  id: z.string().nullable(),
  key: z.string(),
  model_id: z.string(),
  quant: z.string(),
  runner: z.string(),
  config: z.string().nullable(),
  pack: z.string(),
  judge_config: z.string().nullable(),
  judge_model: z.string().nullable(),
  /** Relative to the directory of the submission. */
  bundle_dir: z.string(),
  status: stepStatusSchema,
  /** What is being done to the entry right now, and since when (RFC 3339). */
  step: z.string().nullable(),
  since: z.string().nullable(),
  /** Executions so far; a stop by the user is none. */
  attempts: z.int(),
  load_status: stepStatusSchema,
  eval_status: stepStatusSchema,
  judge_status: stepStatusSchema,
  /** Over all invocations; null where the step never ran. */
  load_seconds: z.number().nullable(),
  eval_seconds: z.number().nullable(),
  judge_seconds: z.number().nullable(),
  error: z.string().nullable(),
  advice: z.string().nullable(),
  warnings: z.array(z.string()),
  result: entryResultSchema.nullable(),
  /** null where `queue run` runs it. */
  job: jobNoteSchema.nullable().default(null),
});
export type EntrySummary = z.output<typeof entrySummarySchema>;

/** `summary.json` of a submission. Times are RFC 3339 in UTC. */
export const summarySchema = z.object({
  schema_version: z.literal(1),
  id: z.string(),
  /** `stopped`: the run ended itself before the last entry, `reason` says why. */
  state: z.enum(["running", "waiting", "done", "interrupted", "stopped"]),
  reason: z.string().nullable(),
  source: z.object({ path: z.string(), sha256: z.string() }),
  started: z.string(),
  resumed: z.array(z.string()),
  updated: z.string(),
  ended: z.string().nullable(),
  total: z.int(),
  /** Entries that have ended one way or the other. */
  done: z.int(),
  ok: z.int(),
  warnings: z.array(z.string()),
  resume_command: z.string().nullable(),
  entries: z.array(entrySummarySchema),
});
export type Summary = z.output<typeof summarySchema>;

/** Statuses that an entry can end with. */
export function hasEnded(status: StepStatus): boolean {
  return status !== "pending" && status !== "running" && status !== "interrupted";
}

/** Brings the counts in line with the entries. */
export function countEntries(summary: Summary): void {
  summary.total = summary.entries.length;
  summary.done = summary.entries.filter((entry) => hasEnded(entry.status)).length;
  summary.ok = summary.entries.filter((entry) => entry.status === "ok").length;
}
