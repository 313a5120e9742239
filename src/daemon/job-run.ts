import { dirname, join } from "node:path";
import { errorMessage, EXIT, TouchstonedError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import { fileLog, type Log } from "../core/log.ts";
import type { Job, JobFailure, StepRecord } from "../queue/index.ts";
import {
  proveCopies,
  RunnerPool,
  runEntry,
  type AdoptedStep,
  type EntryEnd,
  type HeldLock,
  type Rooms,
  type RunEvent,
  type StartedStep,
} from "../steps/index.ts";
import type { JobOutcome, Store } from "../store/index.ts";
import { dropRunning, writeRunning } from "./running-record.ts";
import type { OpenSubmission, Summaries } from "./summaries.ts";

/** Why a job cannot run here and now: this machine's trouble, and no attempt of the job. */
export interface JobPlaceFault {
  reason: string;
  /** It passes by itself, and nothing is claimed meanwhile; else the job is held for a person. */
  returns: boolean;
}

export interface JobRunDeps {
  store: Store;
  rooms: Rooms;
  summaries: Summaries;
  log: Log;
  /** Path of the record of the running step. */
  running_path: string;
  min_free_disk_mb: number;
  directoryFault: (job: Job) => JobPlaceFault | null;
  /** Lets the running step end; the job is handed back then. */
  soft: AbortSignal;
  /** Ends the running step. */
  hard: AbortSignal;
  claimDirectory(directory: string): Promise<Claim>;
  /** Keeps the machine from sleeping as long as a job runs. */
  keepAwake: () => Promise<{ release: () => Promise<void> }>;
  emit: (job: Job, event: RunEvent) => void;
}

/** A run's directory, claimed by this process. */
interface Claim {
  release(): void;
}

/** What the store is told of an execution. */
type Verdict =
  | { kind: "complete"; result: JsonValue }
  | { kind: "fail"; failure: JobFailure }
  | { kind: "interrupt"; reason: string; hold?: boolean };

/** Between attempts to tell the store of a job's end: the disk may be full. */
const TELL_AGAIN_MS = 5000;

function failureOf({ status, failure }: EntryEnd): JobFailure {
  const { step = null, message = status, incurable = false } = failure ?? {};
  const kind = incurable
    ? "incurable"
    : status === "timeout" || status === "stalled"
      ? status
      : "error";
  return { kind, message, step };
}

/** A known error from before or around the steps. */
function failureFrom(error: unknown): JobFailure {
  const known = error instanceof TouchstonedError;
  const { bad_input, bad_config } = EXIT;
  const incurable = known && (error.exitCode === bad_input || error.exitCode === bad_config);
  return { kind: incurable ? "incurable" : "error", message: errorMessage(error), step: null };
}

async function giveBack(claiming: Promise<Claim>): Promise<void> {
  try {
    (await claiming).release();
  } catch {
    // It was never ours.
  }
}

/** A job under the fence of its claim, from start to end. */
export class JobRun {
  readonly #deps: JobRunDeps;
  readonly #job: Job;
  readonly #cancelled = new AbortController();
  /** Outcomes of steps on their way to the store. */
  #told: Promise<void> = Promise.resolve();

  constructor(deps: JobRunDeps, job: Job) {
    this.#deps = deps;
    this.#job = job;
  }

  /** The job is not ours any more (cancelled, given to another): its step ends now. */
  async look(): Promise<void> {
    const now = await this.#deps.store.job(this.#job.id);
    const ours = now?.state === "IN_PROGRESS" && now.fence === this.#job.fence;
    if (ours || this.#cancelled.signal.aborted) return;
    this.#deps.log.warn({ job: this.#job.id, state: now?.state }, "not ours any more: ending it");
    this.#cancelled.abort();
  }

  #note(what: string, outcome: JobOutcome): void {
    if (outcome.ok) return;
    this.#deps.log.warn(
      { job: this.#job.id, fence: this.#job.fence },
      `${what}: ${outcome.reason}`,
    );
  }

  #tellStep(record: StepRecord): void {
    const { store, rooms, log } = this.#deps;
    const { id, fence } = this.#job;
    const entry = { step: record.kind, status: record.status, record: record as JsonValue };
    const tell = async (): Promise<void> => {
      try {
        this.#note("step", await store.step(id, fence, rooms.clock.now_ms(), entry));
      } catch (error) {
        // The bundle has it; the store's copy is for looking at.
        log.warn({ job: id, error: errorMessage(error) }, "a step's outcome was not stored");
      }
    };
    const before = this.#told;
    this.#told = (async () => {
      await before;
      await tell();
    })();
  }

  #record(started: StartedStep): void {
    const { job_id, fence } = { job_id: this.#job.id, fence: this.#job.fence };
    writeRunning(this.#deps.running_path, {
      schema_version: 1,
      job_id,
      fence,
      kind: started.kind,
      started_ms: started.started_ms,
      log_path: started.log_path,
      token: started.mark.token,
      root: started.mark.root,
      own_runner: started.own_runner,
    });
  }

  async #execute(
    { submission, summary }: OpenSubmission,
    lock: HeldLock,
    adopted: AdoptedStep | undefined,
  ): Promise<EntryEnd> {
    const { rooms, emit, soft, hard, min_free_disk_mb, keepAwake } = this.#deps;
    const job = this.#job;
    const pool = new RunnerPool(rooms, submission.directory);
    const log = fileLog(join(submission.directory, "run.log"));
    // Asking for it may take seconds, which the job need not wait for.
    const awake = keepAwake();
    const ends = AbortSignal.any([hard, this.#cancelled.signal]);
    try {
      return await runEntry(
        {
          rooms,
          pool,
          lock,
          store: summary,
          submission,
          invocation: rooms.new_id(),
          min_free_disk_mb,
          log,
          signal: ends,
          soft: AbortSignal.any([soft, ends]),
          when_orphaned: "continue",
          onTree: (started) => this.#record(started),
          ...(adopted === undefined ? {} : { adopted }),
          emit: (event) => {
            if (event.type === "step_end") this.#tellStep(event.record);
            emit(job, event);
          },
        },
        job.entry,
      );
    } finally {
      const fault = await pool.stop();
      if (fault !== null) this.#deps.log.warn(fault);
      await (await awake).release();
    }
  }

  /** A failure whose cause is that its directory is away is none. */
  async #verdict(
    lock: HeldLock,
    claiming: Promise<Claim>,
    adopted: AdoptedStep | undefined,
  ): Promise<Verdict> {
    const before = this.#away();
    if (before !== null) return before;
    const verdict = await this.#carryOut(lock, claiming, adopted);
    return verdict.kind === "fail" ? (this.#away() ?? this.#fallen(verdict) ?? verdict) : verdict;
  }

  /**
   * Where a machine goes down its servers do, too: what failed meanwhile and may succeed another time
   * is no attempt.
   */
  #fallen({ failure }: { failure: JobFailure }): Verdict | null {
    if (!this.#deps.soft.aborted || failure.kind !== "error") return null;
    return { kind: "interrupt", reason: `the daemon was stopped, and ${failure.message}` };
  }

  #away(): Verdict | null {
    const fault = this.#deps.directoryFault(this.#job);
    return fault && { kind: "interrupt", reason: fault.reason, hold: !fault.returns };
  }

  async #carryOut(
    lock: HeldLock,
    claiming: Promise<Claim>,
    adopted: AdoptedStep | undefined,
  ): Promise<Verdict> {
    const { summaries, soft } = this.#deps;
    const job = this.#job;
    try {
      const opened = await summaries.open(job.submission_id);
      await claiming;
      proveCopies(opened.submission, job.entry);
      await summaries.sync(job.submission_id, "soon");
      const end = await this.#execute(opened, lock, adopted);
      const row = opened.summary.summary.entries.find(({ index }) => index === job.index);
      if (end.status === "ok") {
        const result = { bundle_dir: job.bundle_dir, ...row?.result } as JsonValue;
        return { kind: "complete", result };
      }
      if (end.status !== "interrupted") return { kind: "fail", failure: failureOf(end) };
      const reason = soft.aborted ? "the daemon was stopped" : "goes on under the model lock";
      return { kind: "interrupt", reason };
    } catch (error) {
      // A full disk is the machine's trouble and no attempt of the job.
      if (error instanceof TouchstonedError && error.code === "cannot_write") {
        return { kind: "interrupt", reason: errorMessage(error) };
      }
      return { kind: "fail", failure: failureFrom(error) };
    }
  }

  async #tell(verdict: Verdict): Promise<void> {
    const { store, rooms } = this.#deps;
    const { id, fence } = this.#job;
    const now_ms = rooms.clock.now_ms();
    switch (verdict.kind) {
      case "complete":
        return this.#note("complete", await store.complete(id, fence, now_ms, verdict.result));
      case "fail":
        return this.#note("fail", await store.fail(id, fence, now_ms, verdict.failure));
      case "interrupt":
        this.#note("interrupt", await store.interrupt(id, fence, now_ms, verdict.reason));
    }
    if (verdict.kind !== "interrupt" || verdict.hold !== true) return;
    await store.hold(id, now_ms);
    const what = `put it back and \`touchstoned queue release ${id}\`, or cancel the job`;
    this.#warn(`job ${id} is held: ${verdict.reason}; ${what}`);
  }

  #warn(text: string): void {
    this.#deps.emit(this.#job, { type: "warning", text });
  }

  /** Tells the store how it ended. Where it cannot be told now, later; a restart reaps the job. */
  async #settle(verdict: Verdict): Promise<void> {
    const { rooms, hard, log } = this.#deps;
    await this.#told;
    for (let first = true; ;) {
      try {
        await this.#tell(verdict);
        return;
      } catch (error) {
        const why = errorMessage(error);
        log.error({ job: this.#job.id, error: why }, "its end was not stored");
        if (first) this.#warn(`job ${this.#job.id} has ended, which cannot be stored yet: ${why}`);
        first = false;
        if (hard.aborted) return;
        await rooms.clock.sleep(TELL_AGAIN_MS, hard);
      }
    }
  }

  /**
   * Runs the claimed job to its end under `lock`, which it gives back, and tells the store. With
   * `adopted` the job is running already, and its step holds the lock itself. Never rejects.
   */
  async run(lock: HeldLock, adopted?: AdoptedStep): Promise<void> {
    const { store, rooms, summaries, log, running_path } = this.#deps;
    const { id, fence, submission_id, bundle_dir } = this.#job;
    // Asked for now and needed later: to get it takes as long as the disk needs for the start.
    const claiming = this.#deps.claimDirectory(dirname(bundle_dir));
    claiming.catch(() => undefined);
    try {
      if (adopted === undefined) {
        const started = await store.start(id, fence, rooms.clock.now_ms());
        this.#note("start", started);
        if (!started.ok) return;
      }
      const verdict = await this.#verdict(lock, claiming, adopted);
      dropRunning(running_path);
      log.info({ job: id, ...verdict }, "job ends");
      await this.#settle(verdict);
      await summaries.sync(submission_id);
    } catch (error) {
      const reason = errorMessage(error);
      log.error({ job: id, error: reason }, "job handed back");
      await this.#settle({ kind: "interrupt", reason });
    } finally {
      await giveBack(claiming);
      lock.release();
    }
  }
}
