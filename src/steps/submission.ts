import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { EXIT, errorMessage, type ExitCode } from "../core/errors.ts";
import { fileLog, type Log } from "../core/log.ts";
import {
  byPriority,
  dependencyState,
  hasEnded,
  type EntrySummary,
  type QueueContext,
  type QueueEntry,
  type Summary,
} from "../queue/index.ts";
import { countTimeouts, readAttempts } from "./bundle-state.ts";
import { runEntry } from "./entry.ts";
import type { HeldLock, Loaders, Rooms } from "./rooms.ts";
import type { Emit } from "./run-events.ts";
import { RunnerPool } from "./runner-pool.ts";
import { createSubmission, reopenSubmission, type SubmissionDir } from "./submission-dir.ts";
import { newSummary, restoreSummary } from "./summary-make.ts";
import { SummaryStore } from "./summary-store.ts";
import { readQueueFile, takeUp } from "./take-up.ts";

export interface SubmissionOptions {
  /** Queue file; null only with `resume`. */
  file: string | null;
  /** Directory of an earlier submission. */
  resume: string | null;
  lock_wait_s: number;
  /** Absolute; the command that goes on names it. */
  station_root: string;
  runs_dir: string;
  context: Omit<QueueContext, "look">;
  rooms: Rooms;
  loaders: Loaders;
  /** Held as long as the directory is in use; throws busy where another process has it. */
  claimDirectory(directory: string): Promise<{ release(): void }>;
  signal: AbortSignal;
  emit: Emit;
}

export interface SubmissionOutcome {
  /** 0 all entries ok, 1 any other. */
  exit_code: ExitCode;
  directory: string;
  summary: Summary;
}

/** A timeout costs hours, so it is tried twice at most, whatever `max_attempts` says. */
const MAX_TIMEOUTS = 2;
/** How long we sleep at most before we look at the wall clock again. */
const LOOK_MS = 60_000;

function dueOf(entry: QueueEntry): number {
  return entry.not_before === null ? 0 : Date.parse(entry.not_before);
}

/** A path as a word that people paste into a shell, in whatever directory they are by then. */
function shellWord(path: string): string {
  return /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** One invocation of `queue run`. */
class Invocation {
  readonly #options: SubmissionOptions;
  readonly #submission: SubmissionDir;
  readonly #store: SummaryStore;
  readonly #log: Log;
  readonly #pool: RunnerPool;
  readonly #id: string;
  #lock: HeldLock | null;
  /** Entries that this invocation has still to look at, by index. */
  readonly #open: Map<number, QueueEntry>;

  constructor(
    options: SubmissionOptions,
    submission: SubmissionDir,
    summary: Summary,
    lock: HeldLock,
  ) {
    const { rooms } = options;
    this.#options = options;
    this.#submission = submission;
    this.#lock = lock;
    this.#store = new SummaryStore(submission.directory, summary, rooms.clock);
    this.#log = fileLog(join(submission.directory, "run.log"));
    this.#pool = new RunnerPool(rooms, submission.directory);
    this.#id = rooms.new_id();
    this.#open = new Map(
      submission.entries
        .filter((entry) => this.#row(entry).status !== "ok")
        .map((entry) => [entry.index, entry]),
    );
  }

  #row(entry: QueueEntry): EntrySummary {
    const row = this.#store.summary.entries.find((one) => one.index === entry.index);
    if (row === undefined) throw new Error(`no row for entry ${entry.index}`);
    return row;
  }

  /** What became of the entry that `after` names. */
  #stateOf(id: string): "open" | "complete" | "failed" {
    const entry = this.#submission.entries.find((one) => one.id === id);
    if (entry === undefined) return "failed";
    if (this.#open.has(entry.index)) return "open";
    return this.#row(entry).status === "ok" ? "complete" : "failed";
  }

  #refuse(entry: QueueEntry, error: string, advice: string): void {
    this.#open.delete(entry.index);
    this.#store.update(() => {
      const row = this.#row(entry);
      if (!hasEnded(row.status)) row.status = "failed";
      if (row.load_status === "pending") row.load_status = "skipped";
      if (row.eval_status === "pending") row.eval_status = "skipped";
      if (row.judge_status === "pending") row.judge_status = "skipped";
      [row.error, row.advice] = [error, advice];
    });
    this.#log.warn({ entry: entry.index }, error);
    this.#options.emit({ type: "entry_end", entry: this.#row(entry) });
  }

  /** Settles the entries that can never run; true where one was found. */
  #refuseHopeless(): boolean {
    for (const entry of this.#open.values()) {
      const dependency = dependencyState(entry, (id) => this.#stateOf(id));
      if (dependency.state === "hopeless") {
        const ids = dependency.ids.join(", ");
        this.#refuse(entry, `waits for ${ids}, which did not complete`, `See to ${ids} first.`);
        return true;
      }
      const attempts = readAttempts(
        join(this.#submission.directory, this.#row(entry).bundle_dir),
        entry.key,
      );
      const used = this.#row(entry).attempts >= entry.max_attempts;
      if (used || countTimeouts(attempts) >= MAX_TIMEOUTS) {
        const last = this.#row(entry).error ?? "no reason recorded";
        const why = used ? `all ${entry.max_attempts} attempts are used` : "timed out twice";
        this.#refuse(entry, `${why}; last: ${last}`, "Run the queue file anew once it is mended.");
        return true;
      }
    }
    return false;
  }

  /** The entry that is next, or how long to wait for one; null when nothing is left. */
  #next(): { entry: QueueEntry } | { wait_until_ms: number } | null {
    while (this.#refuseHopeless());
    const ready = [...this.#open.values()]
      .filter((entry) => dependencyState(entry, (id) => this.#stateOf(id)).state === "ready")
      .sort(byPriority);
    const due = ready.find((entry) => dueOf(entry) <= this.#options.rooms.clock.now_ms());
    if (due !== undefined) return { entry: due };
    return ready.length === 0 ? null : { wait_until_ms: Math.min(...ready.map(dueOf)) };
  }

  /** Each entry gets a runner of ours anew: one that has served before answers out of its caches. */
  async #stopRunner(): Promise<void> {
    const fault = await this.#pool.stop();
    if (fault === null) return;
    this.#log.warn(fault);
    this.#options.emit({ type: "warning", text: fault });
  }

  /** Stops the runner of ours and gives the lock back, in this order. */
  async #letGo(): Promise<void> {
    await this.#stopRunner();
    this.#lock?.release();
    this.#lock = null;
  }

  /** Waits without lock and without a runner of ours in memory: others may use the machine. */
  async #waitUntil(until_ms: number): Promise<void> {
    const { rooms, signal, emit } = this.#options;
    await this.#letGo();
    const reason = `waiting until ${isoTime(until_ms)} (not_before)`;
    this.#store.update((summary) => ([summary.state, summary.reason] = ["waiting", reason]));
    emit({ type: "waiting", reason });
    while (!signal.aborted && rooms.clock.now_ms() < until_ms) {
      await rooms.clock.sleep(Math.min(LOOK_MS, until_ms - rooms.clock.now_ms()), signal);
    }
  }

  async #takeLock(): Promise<HeldLock> {
    const { rooms, signal } = this.#options;
    // The night is under way: whoever measures now is waited for, however long it takes.
    this.#lock ??= await rooms.lock({
      wait_s: Number.POSITIVE_INFINITY,
      purpose: "queue run",
      run_id: this.#submission.record.id,
      signal,
    });
    return this.#lock;
  }

  /** Why no further entry may start; null where one may. */
  #lowDisk(): string | null {
    const { rooms, context } = this.#options;
    const free_mb = rooms.free_disk_mb(this.#submission.directory);
    const { min_free_disk_mb } = context.limits;
    if (free_mb === null || free_mb >= min_free_disk_mb) return null;
    return (
      `only ${Math.floor(free_mb)} MB of disk left where runs are kept, ` +
      `limits.min_free_disk_mb asks for ${min_free_disk_mb}`
    );
  }

  async #loop(): Promise<void> {
    const { rooms, signal, emit } = this.#options;
    for (;;) {
      const next = this.#next();
      if (next === null) return;
      if ("entry" in next) {
        const low = this.#lowDisk();
        if (low !== null) {
          this.#store.update((summary) => ([summary.state, summary.reason] = ["stopped", low]));
          emit({ type: "warning", text: low });
          return;
        }
        const lock = await this.#takeLock();
        this.#store.update((summary) => ([summary.state, summary.reason] = ["running", null]));
        await runEntry(
          {
            rooms,
            pool: this.#pool,
            lock,
            store: this.#store,
            submission: this.#submission,
            invocation: this.#id,
            min_free_disk_mb: this.#options.context.limits.min_free_disk_mb,
            log: this.#log,
            signal,
            emit,
          },
          next.entry,
        );
        this.#open.delete(next.entry.index);
        await this.#stopRunner();
      } else {
        await this.#waitUntil(next.wait_until_ms);
      }
      if (signal.aborted) return;
    }
  }

  #resumeCommand(): string {
    const { directory } = this.#submission;
    const { station_root } = this.#options;
    return `touchstoned queue run --resume ${shellWord(directory)} --station ${shellWord(station_root)}`;
  }

  async run(): Promise<SubmissionOutcome> {
    const { signal, emit, resume } = this.#options;
    const { directory } = this.#submission;
    this.#log.info({ invocation: this.#id, resume: resume !== null }, "run begins");
    try {
      this.#store.update(() => {});
      const { entries } = this.#store.summary;
      emit({ type: "opened", directory, entries, resumed: resume !== null });
      for (const text of this.#submission.warnings) emit({ type: "warning", text });
      await this.#loop();
      this.#store.update((summary) => {
        const ok = summary.entries.every((entry) => entry.status === "ok");
        if (signal.aborted) [summary.state, summary.reason] = ["interrupted", "by the user"];
        else if (summary.state !== "stopped") summary.state = "done";
        summary.resume_command = ok ? null : this.#resumeCommand();
        summary.ended = isoTime(this.#options.rooms.clock.now_ms());
      });
    } catch (error) {
      this.#log.error({ error: errorMessage(error) }, "run ends early");
      throw error;
    } finally {
      await this.#letGo();
    }
    const { summary } = this.#store;
    const ok = summary.entries.every((entry) => entry.status === "ok");
    return { exit_code: ok ? EXIT.done : EXIT.failed, directory, summary };
  }
}

/** Reads and checks everything; what it gives makes the directory, once the lock is ours. */
function open(options: SubmissionOptions): { id: string; make: () => SubmissionDir } {
  const { file, resume, context, loaders, rooms, runs_dir } = options;
  const common = { context, loaders, clock: rooms.clock };
  if (resume !== null) {
    const submission = reopenSubmission(resume, file, common);
    return { id: submission.record.id, make: () => submission };
  }
  const path = file ?? "";
  const taken = takeUp(path, readQueueFile(path), context, loaders);
  const id = rooms.new_id();
  return { id, make: () => createSubmission({ ...common, runs_dir, path, taken, id }) };
}

/**
 * Runs a queue file in the foreground, or goes on with an earlier run of one. Throws bad input (64)
 * before anything was started, busy (75) where the model lock is held, and `cannot_write` (1) where
 * the disk is full; everything that happens to an entry is in the summary.
 */
export async function runSubmission(options: SubmissionOptions): Promise<SubmissionOutcome> {
  const { rooms, signal } = options;
  const { id, make } = open(options);
  const lock = await rooms.lock({
    wait_s: options.lock_wait_s,
    purpose: "queue run",
    run_id: id,
    signal,
  });
  let claim: { release(): void } | null = null;
  try {
    const submission = make();
    claim = await options.claimDirectory(submission.directory);
    const summary =
      options.resume === null ? newSummary(submission) : restoreSummary(submission, rooms);
    return await new Invocation(options, submission, summary, lock).run();
  } finally {
    claim?.release();
    lock.release();
  }
}
