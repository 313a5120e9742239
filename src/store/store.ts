import type { JsonValue } from "../core/json.ts";
import type { Job, JobFailure, JobState, QueueEntry, Refusal } from "../queue/resident.ts";

/** A queue file that was taken up. Times are milliseconds since 1970 UTC. */
export interface NewSubmission {
  /** ULID of the taking-up; the recovery of an interrupted one comes with the same id. */
  id: string;
  file_name: string;
  /** Of the file's bytes. */
  sha256: string;
  /** Where the bytes are kept, or null. */
  snapshot_path: string | null;
  accepted_at_ms: number;
  /** Whatever the caller wants to have back. */
  detail: JsonValue;
}

export interface NewJob {
  /** ULID; refused where it was ever there. */
  id: string;
  index: number;
  entry: QueueEntry;
  bundle_dir: string;
  /** Set by a rebuild for what had ended before: the job starts out so. */
  restored?: Restored;
}

/** How a job had ended, as the files say. FAILED is for good. */
export type Restored = { ended_at_ms: number } & (
  | { state: "COMPLETE"; result: JsonValue }
  | { state: "FAILED"; failure: JobFailure }
  | { state: "CANCELLED" }
);

export interface Submission extends NewSubmission {
  total_jobs: number;
  /** Jobs that have not ended; the submission is open as long as there are any. */
  open_jobs: number;
  ended_at_ms: number | null;
  /** Where its file was put after the end (`place`), and when. */
  placed_path: string | null;
  placed_at_ms: number | null;
}

export interface Owner {
  /** Host name, then `-2`, `-3`. */
  id: string;
  host: string;
  pid: number;
  start_token: string;
  boot_id: string;
}

export interface RegisteredOwner extends Owner {
  registered_at_ms: number;
  beat_at_ms: number;
}

export type OwnerVerdict = "alive" | "dead" | "unknown";

/** An owner that nobody can look at is given up after so long without a beat. */
export const OWNER_SILENCE_MS = 5 * 60_000;

/** The target of `hold` and `release` that means the queue itself. */
export const QUEUE = "queue";

export type JobOutcome = { ok: true; job: Job } | Refusal;
export type OwnerOutcome =
  | { ok: true }
  | { ok: false; code: "owner_unknown" | "owner_taken" | "owner_busy"; reason: string };
export type HoldOutcome = { ok: true } | Refusal;

export interface AcceptReport {
  /** `already`: this very taking-up is there. `duplicate`: the same bytes are open elsewhere. */
  outcome: "accepted" | "already" | "duplicate";
  /** The submission that is there. */
  submission_id: string;
}

/** One step's outcome, as steps write it; `record` is kept as it is. */
export interface StepEntry {
  /** `reset`, `settle`, `load`, `eval`, `judge` or the like. */
  step: string;
  status: string;
  record: JsonValue;
}

export interface RecordedStep extends StepEntry {
  fence: number;
  at_ms: number;
}

/** One change of a job. The first one has no `from`. */
export interface JobHistory {
  at_ms: number;
  kind: string;
  from: JobState | null;
  to: JobState;
  fence: number;
  owner: string | null;
  reason: string | null;
}

export interface ReapReport {
  owners: string[];
  /** Jobs that went back to PENDING. */
  interrupted: string[];
  /** Jobs for which it was one death too many. */
  failed: string[];
}

export interface SubmissionFilter {
  open?: boolean;
  placed?: boolean;
  sha256?: string;
}

export interface JobFilter {
  submission_id?: string;
  states?: readonly JobState[];
  owner?: string;
  /** Default `id`, which is the order of arrival. */
  order?: "id" | "rank";
  limit?: number;
}

/** What a machine can run. */
export interface Able {
  runners: readonly string[];
  /** Memory for a model, MB; null or left out: not known, so that every model may be tried. */
  memory_mb?: number | null;
}

/** Why nothing is claimed: how many jobs wait, and for what. Each job is counted once. */
export interface Blocked {
  queue_held_at_ms: number | null;
  /** A claim would take one of these now. */
  ready: number;
  /** Only time keeps them: `not_before` or `retry_after`. */
  not_due: number;
  /** The earliest of those times, for a runner that this machine has. */
  next_due_ms: number | null;
  held: number;
  waiting_on_others: number;
  /** Due, but for a runner that this machine does not have. */
  other_runner: number;
  /** Due, but their model needs more memory than this machine has. */
  too_big: number;
  running: number;
}

export interface Violation {
  /** Name of the invariant. */
  rule: string;
  /** The job or submission it was found on, or null. */
  subject: string | null;
  message: string;
}

/**
 * Where jobs are kept. Every method is one transaction: it has happened whole, durably, once its
 * promise resolves, or not at all. A refusal is a value; only trouble with the store itself
 * (`TouchstonedError`, code `store_*`), an id that was used before (`id_reused`) and a claim by
 * nobody (`owner_unknown`) are thrown.
 */
export interface Store {
  accept(submission: NewSubmission, jobs: readonly NewJob[]): Promise<AcceptReport>;
  submissions(filter?: SubmissionFilter): Promise<Submission[]>;
  submission(id: string): Promise<Submission | undefined>;
  /** Notes where the file of an ended submission went; false where there is no such submission. */
  place(submission_id: string, path: string, now_ms: number): Promise<boolean>;
  jobs(filter?: JobFilter): Promise<Job[]>;
  job(id: string): Promise<Job | undefined>;
  /** In the order of the file. */
  jobsOf(submission_id: string): Promise<Job[]>;
  history(job_id: string): Promise<JobHistory[]>;
  steps(job_id: string): Promise<RecordedStep[]>;

  /** Takes the due job of lowest rank; undefined where there is none or the queue is held. */
  claim(owner_id: string, now_ms: number, can: Able): Promise<Job | undefined>;
  start(id: string, fence: number, now_ms: number): Promise<JobOutcome>;
  step(id: string, fence: number, now_ms: number, step: StepEntry): Promise<JobOutcome>;
  complete(id: string, fence: number, now_ms: number, result: JsonValue): Promise<JobOutcome>;
  fail(id: string, fence: number, now_ms: number, failure: JobFailure): Promise<JobOutcome>;
  interrupt(id: string, fence: number, now_ms: number, why: string): Promise<JobOutcome>;
  /** Takes over a running job of another owner, whose death the caller has proven. */
  adopt(id: string, fence: number, owner_id: string, now_ms: number): Promise<JobOutcome>;

  cancel(id: string, now_ms: number): Promise<JobOutcome>;
  retry(id: string, now_ms: number): Promise<JobOutcome>;
  /** `target` is a job's id, or `QUEUE`. */
  hold(target: string, now_ms: number): Promise<HoldOutcome>;
  release(target: string, now_ms: number): Promise<HoldOutcome>;
  /** Fails the jobs that wait for one that ended otherwise than COMPLETE, and theirs; their ids. */
  failDependants(now_ms: number): Promise<string[]>;

  /** Refused (`owner_taken`) while another process has the id: reap that one first. */
  register(owner: Owner, now_ms: number): Promise<OwnerOutcome>;
  beat(owner_id: string, now_ms: number): Promise<OwnerOutcome>;
  /** Refused (`owner_busy`) while it has a job. */
  deregister(owner_id: string): Promise<OwnerOutcome>;
  owners(): Promise<RegisteredOwner[]>;
  /** `unknown` counts as dead after OWNER_SILENCE_MS without a beat; `alive` never does. */
  reap(now_ms: number, proof: (owner: RegisteredOwner) => OwnerVerdict): Promise<ReapReport>;

  /** When a claim could next give a job: `now_ms`, a later time, or null if time brings none. */
  nextDue(now_ms: number, can: Able): Promise<number | null>;
  counts(): Promise<Record<JobState, number>>;
  blocked(now_ms: number, can: Able): Promise<Blocked>;
  /** Everything that contradicts the rules; empty in a sound store. */
  check(): Promise<Violation[]>;
  close(): Promise<void>;
}
