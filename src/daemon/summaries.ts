import { existsSync } from "node:fs";
import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import {
  hasEnded,
  isEnded,
  isRunning,
  type EntrySummary,
  type Job,
  type StepStatus,
  type Summary,
} from "../queue/index.ts";
import { detailOf } from "../intake/index.ts";
import {
  newSummary,
  openTaken,
  restoreSummary,
  SummaryStore,
  type Rooms,
  type SubmissionDir,
} from "../steps/index.ts";
import type { Store } from "../store/index.ts";

export interface OpenSubmission {
  submission: SubmissionDir;
  summary: SummaryStore;
}

export interface SummariesOptions {
  store: Pick<Store, "submission" | "jobsOf">;
  rooms: Pick<Rooms, "clock" | "stepFault">;
  log: Log;
}

/** No step runs of a job that does not, and none of an ended one will. */
function endSteps(row: EntrySummary, ended: boolean): void {
  const end = (status: StepStatus): StepStatus => {
    if (status === "running") return "interrupted";
    return status === "pending" && ended ? "skipped" : status;
  };
  row.load_status = end(row.load_status);
  row.eval_status = end(row.eval_status);
  row.judge_status = end(row.judge_status);
}

/** What a job is, in the row of its entry. */
function noteJob(row: EntrySummary, job: Job): void {
  row.job = {
    id: job.id,
    state: job.state,
    attempts: job.attempt_count,
    retry_after: job.retry_after_ms === null ? null : isoTime(job.retry_after_ms),
    held: job.held_at_ms !== null,
  };
  // What its owner wrote before it was killed is not what it is.
  if (!isRunning(job)) {
    [row.step, row.since] = [null, null];
    endSteps(row, isEnded(job));
  }
  if (job.state === "CANCELLED") {
    row.status = row.status === "ok" ? "ok" : "skipped";
    if (row.status === "skipped") row.error = "cancelled";
  } else if (job.state === "FAILED" && job.failure !== null) {
    if (!hasEnded(row.status)) row.status = "failed";
    row.error ??= job.failure.message;
  } else if (job.state === "PENDING" && row.status !== "ok") {
    row.status = "pending";
  }
}

function noteState(summary: Summary, jobs: readonly Job[], now_ms: number): void {
  if (jobs.every((job) => isEnded(job))) {
    if (summary.state !== "done") summary.ended = isoTime(now_ms);
    [summary.state, summary.reason] = ["done", null];
    return;
  }
  summary.ended = null;
  if (jobs.some((job) => isRunning(job))) [summary.state, summary.reason] = ["running", null];
  else [summary.state, summary.reason] = ["waiting", "in the queue; touchstoned status says why"];
}

/** The summaries of the submissions that are being worked on, kept in step with their jobs. */
export class Summaries {
  readonly #options: SummariesOptions;
  readonly #open = new Map<string, OpenSubmission>();
  /** What was last written of each one's jobs. */
  readonly #written = new Map<string, string>();

  constructor(options: SummariesOptions) {
    this.#options = options;
  }

  /** Throws an input error where the submission's directory is gone or damaged. */
  async open(id: string): Promise<OpenSubmission> {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const { store, rooms } = this.#options;
    const stored = await store.submission(id);
    const detail = stored === undefined ? null : detailOf(stored);
    if (detail === null) throw new Error(`submission ${id} has no directory`);
    const jobs = await store.jobsOf(id);
    const entries = jobs.map(({ entry }) => entry);
    const submission = openTaken(detail.directory, entries, detail.warnings);
    const summary = existsSync(join(detail.directory, "summary.json"))
      ? restoreSummary(submission, rooms)
      : newSummary(submission);
    const opened = {
      submission,
      summary: new SummaryStore(detail.directory, summary, rooms.clock),
    };
    this.#open.set(id, opened);
    return opened;
  }

  /**
   * Writes what the store says into the summary, `soon` or before it returns. Trouble with it is
   * logged and loses no job.
   */
  async sync(id: string, when: "now" | "soon" = "now"): Promise<void> {
    const { store, rooms, log } = this.#options;
    try {
      const { summary } = await this.open(id);
      const jobs = await store.jobsOf(id);
      // Two changes may fall into one millisecond.
      const known = JSON.stringify(
        jobs.map(({ fence, state, updated_at_ms }) => [fence, state, updated_at_ms]),
      );
      if (this.#written.get(id) === known) return;
      const change = (content: Summary): void => {
        for (const job of jobs) {
          const row = content.entries.find(({ index }) => index === job.index);
          if (row !== undefined) noteJob(row, job);
        }
        noteState(content, jobs, rooms.clock.now_ms());
      };
      if (when === "soon" && !jobs.every((job) => isEnded(job))) summary.note(change);
      else summary.update(change);
      this.#written.set(id, known);
      if (!jobs.every((job) => isEnded(job))) return;
      this.#open.delete(id);
      this.#written.delete(id);
    } catch (error) {
      log.warn({ submission: id, error: errorMessage(error) }, "its summary cannot be written");
    }
  }

  /** The submissions that are open here. */
  ids(): string[] {
    return [...this.#open.keys()];
  }
}
