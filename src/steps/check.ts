import { join } from "node:path";
import { fileTime, isoTime } from "../core/clock.ts";
import { EXIT, TouchstonedError, type ExitCode } from "../core/errors.ts";
import { ensureDir, writeFileAtomic } from "../core/files.ts";
import { contentHash, prettyJson } from "../core/json.ts";
import { modelSpecSchema, type ModelSpec } from "../core/model-spec.ts";
import type { QueueContext, QueueEntry, ResetRecord, SettleRecord } from "../queue/index.ts";
import type { GenerateResult, Runner } from "../runners/index.ts";
import { checkMarkdown } from "./check-markdown.ts";
import { requireAnswer } from "./require-answer.ts";
import { resetModels } from "./reset.ts";
import type { Loaders, Rooms } from "./rooms.ts";
import { RunnerPool } from "./runner-pool.ts";
import { waitSettled } from "./settle.ts";
import { readQueueFile, takeUp } from "./take-up.ts";

/** One model on one runner, as the entries or their judges name it. */
interface CheckTarget {
  role: "model" | "judge";
  runner: string;
  model: ModelSpec;
  /** The first entry that names it; its settings are used. */
  entry: QueueEntry;
}

/** What the chain did with one model. Megabytes are 10^6 bytes; null is "not known". */
export interface CheckRow {
  role: CheckTarget["role"];
  model: string;
  quant: string;
  runner: string;
  entries_from: number;
  ok: boolean;
  loaded: boolean;
  /** `ok`: visible text; `reasoning_only`: it thought and said nothing; `empty`; `error`. */
  status: "ok" | "reasoning_only" | "empty" | "error" | "not_tried";
  content_chars: number;
  load_s: number | null;
  /** From sending to the first visible token. */
  first_token_s: number | null;
  ram_before_mb: number | null;
  ram_after_mb: number | null;
  ram_delta_mb: number | null;
  reset: ResetRecord | null;
  settle: SettleRecord | null;
  /** After another reset: true = the runner says that nothing is loaded; null = see the reason. */
  evicted: boolean | null;
  eviction_reason: string | null;
  error: string | null;
  warnings: string[];
}

export interface CheckReport {
  schema_version: 1;
  file: string;
  sha256: string;
  started: string;
  ended: string;
  directory: string;
  /** 0: every model can be measured; 1: at least one cannot. */
  exit_code: ExitCode;
  rows: CheckRow[];
  warnings: string[];
}

export interface CheckOptions {
  file: string;
  runs_dir: string;
  lock_wait_s: number;
  context: Omit<QueueContext, "look">;
  rooms: Rooms;
  loaders: Loaders;
  signal: AbortSignal;
  /** Said before each thing that may take long. */
  onStep?: (text: string) => void;
}

/** Room for a model that thinks before it says its first word. */
const CHECK_TOKENS = 512;
const QUESTION = "Which day comes after Tuesday? Answer with one word.";

/** Each model spec on each runner once, judges last, in the order of the file. */
function checkTargets(
  entries: readonly QueueEntry[],
  judgeOf: (entry: QueueEntry) => { runner: string | null; model: string } | null,
): CheckTarget[] {
  const targets = new Map<string, CheckTarget>();
  const add = (target: CheckTarget): void => {
    const key = contentHash({ runner: target.runner, model: target.model });
    if (!targets.has(key)) targets.set(key, target);
  };
  for (const entry of entries) {
    add({ role: "model", runner: entry.runner, model: entry.model, entry });
  }
  for (const entry of entries) {
    const judge = judgeOf(entry);
    if (judge === null) continue;
    const model = modelSpecSchema.parse({ id: judge.model });
    const known = [...targets.values()].some(
      (one) => one.runner === (judge.runner ?? entry.runner) && one.model.id === judge.model,
    );
    // A judge that is also tested is proven already, whatever its other options are.
    if (!known) add({ role: "judge", runner: judge.runner ?? entry.runner, model, entry });
  }
  return [...targets.values()];
}

function newRow({ role, model, runner, entry }: CheckTarget): CheckRow {
  return {
    role,
    model: model.id,
    quant: model.quant,
    runner,
    entries_from: entry.index,
    ok: false,
    loaded: false,
    status: "not_tried",
    content_chars: 0,
    load_s: null,
    first_token_s: null,
    ram_before_mb: null,
    ram_after_mb: null,
    ram_delta_mb: null,
    reset: null,
    settle: null,
    evicted: null,
    eviction_reason: null,
    error: null,
    warnings: [],
  };
}

function statusOf(result: GenerateResult): CheckRow["status"] {
  if (!result.ok) return "error";
  if (result.text.trim() !== "") return "ok";
  return result.reasoning_text.trim() === "" ? "empty" : "reasoning_only";
}

async function ask(row: CheckRow, runner: Runner, model: ModelSpec, signal: AbortSignal) {
  const result = await runner.generate({
    model: model.id,
    messages: [{ role: "user", content: QUESTION }],
    temperature: 0,
    seed: 42,
    max_tokens: CHECK_TOKENS + model.reasoning_headroom_tokens,
    extra_body: model.extra_body,
    limits: { connect_s: 10, first_token_s: 900, stall_s: 300, total_s: null },
    signal,
  });
  row.status = statusOf(result);
  row.content_chars = result.text.length;
  row.first_token_s = result.timing.first_content_s;
  if (row.status === "ok") return;
  row.error =
    result.fault?.message ??
    (row.status === "empty"
      ? "the answer is empty"
      : "it thought until its limit and said nothing: raise reasoning_headroom_tokens");
}

/** Resets once more and asks whether the model is really gone. */
async function proveEviction(row: CheckRow, runner: Runner, target: CheckTarget, rooms: Rooms) {
  if (runner.residency === "fixed") {
    row.eviction_reason = "not applicable: the runner holds its model as long as it lives";
    return;
  }
  const { clock } = rooms;
  const reset = await resetModels({ command: target.entry.reset_command, runner, clock });
  if (reset.outcome === "skipped") {
    row.eviction_reason = "resetting is switched off for this entry";
    return;
  }
  const settled = await waitSettled({
    settings: target.entry.settle,
    runner,
    used_mb: () => rooms.used_mb(),
    clock,
  });
  const { models, reason } = await runner.loaded();
  row.evicted = models === null ? null : models.length === 0;
  row.eviction_reason =
    models === null
      ? (reason ?? "the runner does not say what it holds")
      : row.evicted
        ? null
        : `reset did not evict: still loaded: ${models.join(", ")}`;
  if (row.evicted && settled.outcome === "timeout") {
    row.warnings.push(`memory was not released after the reset: ${settled.reason ?? ""}`);
  }
}

async function checkOne(
  target: CheckTarget,
  pool: RunnerPool,
  options: CheckOptions,
): Promise<CheckRow> {
  const { rooms, signal } = options;
  const row = newRow(target);
  const say = (text: string) => options.onStep?.(`${target.model.id} on ${target.runner}: ${text}`);
  const ready = await pool.use(target.runner, signal);
  await requireAnswer(ready, rooms.clock, signal);
  const { runner } = ready;
  say("reset and settle");
  row.reset = await resetModels({
    command: target.entry.reset_command,
    runner,
    clock: rooms.clock,
    signal,
  });
  if (row.reset.outcome === "failed") row.warnings.push(`reset failed: ${row.reset.reason ?? ""}`);
  row.settle = await waitSettled({
    settings: target.entry.settle,
    runner,
    used_mb: () => rooms.used_mb(),
    clock: rooms.clock,
    signal,
  });
  if (row.settle.outcome === "timeout") row.warnings.push(`settle: ${row.settle.reason ?? ""}`);
  row.ram_before_mb = rooms.used_mb();
  say("load");
  const limit_s = target.entry.step_timeout_s.load;
  const load = await runner.load(target.model.id, {
    limit_s,
    signal,
    extra_body: target.model.extra_body,
  });
  // A fixed runner has its model already: what it took to say so is no load.
  const loads = load.outcome === "ok" && runner.residency !== "fixed";
  row.load_s = loads ? load.duration_s : null;
  row.loaded = load.outcome !== "failed";
  if (!row.loaded) {
    row.error = load.fault?.message ?? "the model could not be loaded";
    return row;
  }
  say("first token");
  await ask(row, runner, target.model, signal);
  row.ram_after_mb = rooms.used_mb();
  if (row.ram_before_mb !== null && row.ram_after_mb !== null) {
    row.ram_delta_mb = row.ram_after_mb - row.ram_before_mb;
  }
  say("reset again");
  await proveEviction(row, runner, target, rooms);
  row.ok = row.status === "ok" && row.evicted !== false;
  if (!row.ok) row.error ??= row.eviction_reason;
  return row;
}

async function checkAll(
  targets: readonly CheckTarget[],
  pool: RunnerPool,
  options: CheckOptions,
): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (const target of targets) {
    if (options.signal.aborted) {
      rows.push({ ...newRow(target), error: "stopped by the user" });
      continue;
    }
    try {
      rows.push(await checkOne(target, pool, options));
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
      const hint = error.hint === undefined ? "" : ` (${error.hint})`;
      rows.push({ ...newRow(target), error: `${error.message}${hint}` });
    }
  }
  return rows;
}

/**
 * Proves the chain of a queue file before a night: for each model, reset, settle, load, a first
 * visible token, and that the reset really evicts. Writes `check.json` and `check.md`. Throws bad
 * input (64) and busy (75).
 */
export async function checkQueue(options: CheckOptions): Promise<CheckReport> {
  const { rooms, file, loaders } = options;
  const taken = takeUp(file, readQueueFile(file), options.context, loaders);
  const targets = checkTargets(taken.file.entries, (entry) =>
    entry.judge_config === null
      ? null
      : rooms.judgeTarget(loaders.confine(entry.judge_config, "judge config"), entry.judge_model),
  );
  const id = rooms.new_id();
  const { lock_wait_s: wait_s, signal } = options;
  const lock = await rooms.lock({ wait_s, purpose: "queue check", run_id: id, signal });
  const started_ms = rooms.clock.now_ms();
  const directory = join(options.runs_dir, `${fileTime(started_ms)}-${id}-check`);
  ensureDir(directory);
  const pool = new RunnerPool(rooms, directory);
  let rows: CheckRow[];
  try {
    rows = await checkAll(targets, pool, options);
  } finally {
    await pool.stop();
    lock.release();
  }
  const report: CheckReport = {
    schema_version: 1,
    file,
    sha256: taken.sha256,
    started: isoTime(started_ms),
    ended: isoTime(rooms.clock.now_ms()),
    directory,
    exit_code: rows.every((row) => row.ok) ? EXIT.done : EXIT.failed,
    rows,
    warnings: taken.warnings,
  };
  writeFileAtomic(join(directory, "check.json"), prettyJson(report));
  writeFileAtomic(join(directory, "check.md"), checkMarkdown(report));
  return report;
}
