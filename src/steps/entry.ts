import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { errorMessage, EXIT, TouchstonedError } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import type { TreeMark } from "../core/process.ts";
import type {
  Attempt,
  EntrySummary,
  QueueEntry,
  StepRecord,
  StepStatus,
  Summary,
} from "../queue/index.ts";
import { countAttempts, entryResult, readAttempts, secondsOf } from "./bundle-state.ts";
import type { EntryContext, EntryEnd } from "./entry-context.ts";
import { requireAnswer } from "./require-answer.ts";
import { resetModels } from "./reset.ts";
import { runStep, type AdoptedStep } from "./run-step.ts";
import type { ReadyRunner } from "./runner-pool.ts";
import { waitSettled } from "./settle.ts";
import type { StepJob, StepKind } from "./step-job.ts";
import { writeSteps } from "./summary-store.ts";

const GOOD: ReadonlySet<StepStatus> = new Set(["ok", "not_applicable"]);

/** What was asked for is wrong in itself: to do it again gives the same. */
function isIncurable(exit_code: number | null): boolean {
  return exit_code === EXIT.usage || exit_code === EXIT.bad_input || exit_code === EXIT.bad_config;
}

/** One execution of one entry: what was done is on disk before the next thing is begun. */
class EntryRun {
  readonly #context: EntryContext;
  readonly #entry: QueueEntry;
  readonly #bundle_dir: string;
  readonly #attempts: Attempt[];
  readonly #attempt: Attempt;
  /** Lets no further step begin. */
  readonly #soft: AbortSignal;
  #failure: EntryEnd["failure"] = null;
  /** What `steps.json` holds already. */
  #written = "";
  /** The bundle can no longer be written: somebody moved it away or took the right to. */
  #lost = false;

  constructor(context: EntryContext, entry: QueueEntry) {
    this.#context = context;
    this.#entry = entry;
    this.#soft = context.soft ?? context.signal;
    this.#bundle_dir = join(context.submission.directory, context.submission.bundleOf(entry));
    this.#attempts = readAttempts(this.#bundle_dir, entry.key);
    this.#attempt = {
      invocation: context.invocation,
      started: isoTime(context.rooms.clock.now_ms()),
      runner: entry.runner,
      notes: [],
      reset: null,
      settle: null,
      judge_reset: null,
      judge_settle: null,
      steps: [],
      interrupted: false,
    };
    this.#attempts.push(this.#attempt);
  }

  #row(summary: Summary = this.#context.store.summary): EntrySummary {
    const row = summary.entries.find((one) => one.index === this.#entry.index);
    if (row === undefined) throw new Error(`no row for entry ${this.#entry.index}`);
    return row;
  }

  #change(summary: Summary, change: (row: EntrySummary) => void): void {
    const row = this.#row(summary);
    row.attempts = countAttempts(this.#attempts);
    row.load_seconds = secondsOf(this.#attempts, "load");
    row.eval_seconds = secondsOf(this.#attempts, "eval");
    row.judge_seconds = secondsOf(this.#attempts, "judge");
    change(row);
  }

  #saveSteps(): void {
    const known = JSON.stringify(this.#attempts);
    if (known !== this.#written && !this.#lost)
      writeSteps(this.#bundle_dir, this.#entry, this.#attempts);
    this.#written = known;
  }

  /** Writes what is known to the bundle, then to the summary. */
  #save(change: (row: EntrySummary) => void): void {
    this.#saveSteps();
    this.#context.store.update((summary) => this.#change(summary, change));
  }

  /** For what is under way, and needs no record of its own. */
  #note(change: (row: EntrySummary) => void): void {
    this.#context.store.note((summary) => this.#change(summary, change));
  }

  #begin(step: string, change: (row: EntrySummary) => void = () => undefined): void {
    this.#note((row) => {
      change(row);
      row.status = "running";
      row.step = step;
      row.since = isoTime(this.#context.rooms.clock.now_ms());
    });
    this.#context.log.info({ entry: this.#entry.index, step }, "step begins");
    this.#context.emit({ type: "step_start", entry: this.#row(), step });
  }

  #warn(text: string): void {
    this.#note((row) => row.warnings.push(text));
    this.#context.log.warn({ entry: this.#entry.index }, text);
    this.#context.emit({ type: "warning", text: `entry ${this.#entry.index}: ${text}` });
  }

  async #use(name: string): Promise<ReadyRunner> {
    const ready = await this.#context.pool.use(name, this.#soft);
    for (const note of ready.notes) {
      this.#attempt.notes.push(note);
      this.#warn(note);
    }
    await requireAnswer(ready, this.#context.rooms.clock, this.#soft);
    return ready;
  }

  /** Reset and settle; `judge` says before which step they stand. */
  async #clear(ready: ReadyRunner, judge: boolean): Promise<void> {
    const { rooms } = this.#context;
    const signal = this.#soft;
    this.#begin(judge ? "reset before judge" : "reset");
    const reset = await resetModels({
      command: this.#entry.reset_command,
      runner: ready.runner,
      clock: rooms.clock,
      signal,
    });
    this.#attempt[judge ? "judge_reset" : "reset"] = reset;
    if (reset.outcome === "failed") this.#warn(`reset failed: ${reset.reason ?? "no reason"}`);
    if (signal.aborted) return;
    this.#begin(judge ? "settle before judge" : "settle");
    const settle = await waitSettled({
      settings: this.#entry.settle,
      runner: ready.runner,
      used_mb: () => rooms.used_mb(),
      clock: rooms.clock,
      signal,
    });
    this.#attempt[judge ? "judge_settle" : "settle"] = settle;
    if (settle.outcome === "timeout") {
      this.#warn(`memory was not released (${settle.final_mb ?? "?"} MB): ${settle.reason ?? ""}`);
    }
  }

  #job(kind: StepKind, runner: StepJob["runner"]): StepJob {
    const { submission, min_free_disk_mb, when_orphaned = "end" } = this.#context;
    const entry = this.#entry;
    const copy = (what: "config" | "pack" | "judge_config", path: string | null) =>
      path === null ? null : submission.copyOf(what, path);
    return {
      schema_version: 1,
      kind,
      bundle_dir: this.#bundle_dir,
      model: entry.model,
      pack: submission.copyOf("pack", entry.pack),
      config: copy("config", entry.config),
      judge_config: copy("judge_config", entry.judge_config),
      judge_model: entry.judge_model,
      runner,
      limit_s: entry.step_timeout_s[kind],
      min_free_disk_mb,
      when_orphaned,
    };
  }

  #onTree(kind: StepKind, own_runner: boolean): ((mark: TreeMark) => void) | undefined {
    const { onTree, rooms } = this.#context;
    if (onTree === undefined) return undefined;
    const started_ms = rooms.clock.now_ms();
    const log_path = join(this.#bundle_dir, `${kind}.log`);
    return (mark) => onTree({ kind, mark, started_ms, log_path, own_runner });
  }

  async #run(
    kind: StepKind,
    how: Pick<ReadyRunner, "attached" | "api_key" | "own"> & { adopted?: AdoptedStep },
  ): Promise<StepRecord> {
    const { rooms, signal, emit, lock } = this.#context;
    this.#begin(kind, (row) => (row[`${kind}_status`] = "running"));
    // What was done before is on disk before the step begins.
    this.#saveSteps();
    const ended = runStep(rooms, {
      job: this.#job(kind, how.attached),
      api_key: how.api_key,
      lock,
      silence_limit_s: kind === "load" ? null : this.#entry.idle_timeout_s[kind],
      signal,
      adopted: how.adopted,
      onTree: this.#onTree(kind, how.own),
      onProgress: (progress) => {
        this.#context.pool.trim();
        emit({ type: "step_progress", entry: this.#row(), step: kind, progress });
      },
    });
    // It runs already, and did not have to wait for this.
    this.#context.store.flush();
    return ended;
  }

  async #step(kind: StepKind, ready: ReadyRunner): Promise<StepRecord> {
    const record = await this.#run(kind, ready);
    return this.#finish(kind, record, ready.runner.residency === "fixed");
  }

  /** Sees an orphaned step to its end; its status, or null where the entry goes on as usual. */
  async #adopt(adopted: AdoptedStep): Promise<StepStatus | null> {
    const { kind } = adopted;
    const attached = {
      name: this.#entry.runner,
      kind: "openai" as const,
      url: "",
      declared_slots: null,
    };
    const record = await this.#run(kind, { attached, api_key: null, own: false, adopted });
    this.#finish(kind, record, false);
    return record.status === "ok" ? null : record.status;
  }

  /** `fixed`: the runner came up with its model, so that there was nothing to load. */
  #finish(kind: StepKind, record: StepRecord, fixed: boolean): StepRecord {
    const ended = this.#context.pool.ended();
    if (record.status !== "ok" && record.status !== "interrupted" && ended !== null) {
      record.error = `${record.error ?? record.status}; the runner had ended (${ended})`;
    }
    this.#attempt.steps.push(record);
    this.#attempt.interrupted ||= record.status === "interrupted";
    const result = kind === "judge" ? this.#row().result : entryResult(this.#bundle_dir);
    if (kind === "load" && record.status === "ok" && fixed) record.status = "not_applicable";
    this.#save((row) => {
      row[`${kind}_status`] = record.status;
      row.result = result;
      if (GOOD.has(record.status)) return;
      row.error = `${kind}: ${record.error ?? record.status}`;
      row.advice = record.advice;
    });
    if (!GOOD.has(record.status)) {
      const incurable = isIncurable(record.exit_code);
      this.#failure = { step: kind, message: record.error ?? record.status, incurable };
    }
    if (record.survivors.length > 0) {
      this.#warn(`processes that could not be ended: ${record.survivors.join(", ")}`);
    }
    const { log, emit } = this.#context;
    log.info({ entry: this.#entry.index, ...record }, "step ended");
    emit({ type: "step_end", entry: this.#row(), record });
    return record;
  }

  /** Reset, settle, load, eval; gives the status that the entry has after it. */
  async #measure(): Promise<StepStatus> {
    const { rooms } = this.#context;
    const signal = this.#soft;
    this.#begin("runner");
    const ready = await this.#use(this.#entry.runner);
    await this.#clear(ready, false);
    if (this.#entry.cooldown_s > 0 && !signal.aborted) {
      this.#begin("cooldown");
      await rooms.clock.sleep(this.#entry.cooldown_s * 1000, signal);
    }
    if (signal.aborted) return "interrupted";
    const load = await this.#step("load", ready);
    if (!GOOD.has(load.status)) return load.status;
    if (signal.aborted) return "interrupted";
    const result = await this.#step("eval", ready);
    return result.status;
  }

  async #judge(fresh: boolean): Promise<StepStatus> {
    const { rooms, submission } = this.#context;
    const signal = this.#soft;
    const entry = this.#entry;
    if (entry.judge_config === null) return "ok";
    if (this.#row().judge_status === "ok") return "ok";
    const config = submission.copyOf("judge_config", entry.judge_config);
    const target = rooms.judgeTarget(config, entry.judge_model);
    const runner = target.runner ?? entry.runner;
    const other = runner !== entry.runner || target.model !== entry.model.id;
    if (fresh && other) {
      // Two models side by side press each other out of the memory. A fixed runner keeps its own.
      const tested = await this.#use(entry.runner);
      if (tested.runner.residency !== "fixed") await this.#clear(tested, true);
    }
    if (signal.aborted) return "interrupted";
    const ready = await this.#use(runner);
    const result = await this.#step("judge", ready);
    return result.status;
  }

  async #work(): Promise<StepStatus> {
    const { adopted } = this.#context;
    if (adopted !== undefined) {
      const status = await this.#adopt(adopted);
      if (status !== null) return status;
      // What is left needs the model lock, which the orphan had and we have not.
      const { eval_status, judge_status } = this.#row();
      const judged = this.#entry.judge_config === null || judge_status === "ok";
      return eval_status === "ok" && judged ? "ok" : "interrupted";
    }
    const row = this.#row();
    let fresh = false;
    if (row.eval_status !== "ok") {
      fresh = true;
      const status = await this.#measure();
      if (status !== "ok") {
        this.#save((changed) => {
          const stopped = status === "interrupted" ? "pending" : "skipped";
          if (changed.eval_status === "pending") changed.eval_status = stopped;
          changed.judge_status = this.#entry.judge_config === null ? "skipped" : stopped;
        });
        return status;
      }
    }
    return this.#judge(fresh);
  }

  /** What the bundle proves is done, whoever was killed before that could be noted. */
  #recognise(row: EntrySummary): void {
    const { rooms } = this.#context;
    const whole = (kind: "eval" | "judge") => rooms.stepFault(kind, this.#bundle_dir, 0) === null;
    if (row.eval_status !== "ok" && whole("eval")) {
      [row.eval_status, row.result] = ["ok", entryResult(this.#bundle_dir)];
    }
    if (this.#entry.judge_config !== null && whole("judge")) row.judge_status = "ok";
  }

  /** An error that ended the entry: its status, and what is said of it. */
  #broken(error: unknown): StepStatus {
    const ours = error instanceof TouchstonedError;
    if (ours && error.code === "cannot_write") throw error;
    // What was not foreseen costs this entry and not the night.
    this.#lost ||= !ours;
    if (!ours) this.#context.log.error({ entry: this.#entry.index, error }, "entry broke");
    const status = this.#soft.aborted ? "interrupted" : "failed";
    const incurable = ours && isIncurable(error.exitCode);
    this.#failure = { step: null, message: errorMessage(error), incurable };
    this.#save((row) => {
      row.error = errorMessage(error);
      row.advice = ours ? (error.hint ?? null) : "See run.log.";
      if (row.eval_status !== "ok") row.eval_status = status;
      else if (this.#entry.judge_config !== null) row.judge_status = status;
    });
    return status;
  }

  async run(): Promise<EntryEnd> {
    let status: StepStatus;
    try {
      ensureDir(this.#bundle_dir);
      this.#note((row) => {
        [row.error, row.advice, row.warnings] = [null, null, []];
        this.#recognise(row);
        if (row.eval_status !== "ok") [row.load_status, row.eval_status] = ["pending", "pending"];
        const judged = row.eval_status === "ok" && row.judge_status === "ok";
        if (this.#entry.judge_config === null) row.judge_status = "skipped";
        else if (!judged) row.judge_status = "pending";
      });
      status = await this.#work();
    } catch (error) {
      status = this.#broken(error);
    }
    this.#attempt.interrupted ||= status === "interrupted";
    this.#save((row) => {
      [row.status, row.step, row.since] = [status, null, null];
      if (status === "interrupted") row.error ??= "stopped before its end";
    });
    this.#context.emit({ type: "entry_end", entry: this.#row() });
    if (status === "ok" || status === "interrupted") return { status, failure: null };
    const failure = this.#failure ?? { step: null, message: status, incurable: false };
    return { status, failure };
  }
}

/**
 * Does what is left to do of one entry: reset, settle, load, eval where its eval is not good yet;
 * then the judge where one is asked for. Throws only where records cannot be written.
 */
export async function runEntry(context: EntryContext, entry: QueueEntry): Promise<EntryEnd> {
  return new EntryRun(context, entry).run();
}
