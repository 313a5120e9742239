import {
  dueAtMs,
  isClaimable,
  isRunning,
  isWaiting,
  JOB_STATES,
  rankOf,
  type Job,
  type JobState,
} from "../../src/queue/index.ts";
import type {
  Able,
  Blocked,
  JobFilter,
  JobHistory,
  RecordedStep,
  RegisteredOwner,
  Submission,
  SubmissionFilter,
  Violation,
} from "../../src/store/index.ts";

/** What survives a crash of the process: everything, since each call is one transaction. */
export interface MemoryDisk {
  submissions: Map<string, Submission>;
  jobs: Map<string, Job>;
  owners: Map<string, RegisteredOwner>;
  history: Map<string, JobHistory[]>;
  steps: Map<string, RecordedStep[]>;
  /** Ended otherwise than COMPLETE, dependants not failed yet. */
  untold: Set<string>;
  queue_held_at_ms: number | null;
}

export function emptyDisk(): MemoryDisk {
  return {
    submissions: new Map(),
    jobs: new Map(),
    owners: new Map(),
    history: new Map(),
    steps: new Map(),
    untold: new Set(),
    queue_held_at_ms: null,
  };
}

export function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

export function byRank(a: Job, b: Job): number {
  return rankOf(a) - rankOf(b) || byId(a, b);
}

export function countJobs(jobs: readonly Job[]): Record<JobState, number> {
  const entries = JOB_STATES.map((state) => [
    state,
    jobs.filter((job) => job.state === state).length,
  ]);
  return Object.fromEntries(entries) as Record<JobState, number>;
}

/** Has its runner, and memory for its model as far as both are known. */
export function canRun({ entry }: Job, { runners, memory_mb = null }: Able): boolean {
  const fits = entry.memory_mb === null || memory_mb === null || entry.memory_mb <= memory_mb;
  return runners.includes(entry.runner) && fits;
}

export function blockedJobs(
  jobs: readonly Job[],
  now_ms: number,
  can: Able,
): Omit<Blocked, "queue_held_at_ms"> {
  const due = jobs.filter((job) => isClaimable(job) && dueAtMs(job) <= now_ms);
  const here = due.filter((job) => can.runners.includes(job.entry.runner));
  const mine = here.filter((job) => canRun(job, can));
  const later = jobs.filter((job) => isClaimable(job) && dueAtMs(job) > now_ms);
  const later_ms = later.filter((job) => canRun(job, can)).map((job) => dueAtMs(job));
  return {
    ready: mine.length,
    not_due: later.length,
    next_due_ms: mine.length > 0 || later_ms.length === 0 ? null : Math.min(...later_ms),
    held: jobs.filter((job) => isWaiting(job) && job.held_at_ms !== null).length,
    waiting_on_others: jobs.filter(
      (job) => isWaiting(job) && job.held_at_ms === null && job.waiting_on > 0,
    ).length,
    other_runner: due.length - here.length,
    too_big: here.length - mine.length,
    running: jobs.filter(isRunning).length,
  };
}

export function checkDisk(disk: MemoryDisk): Violation[] {
  const found: Violation[] = [];
  for (const job of disk.jobs.values()) {
    const states = (disk.history.get(job.id) ?? []).map(({ to }) => to);
    const say = (rule: string, message: string) => found.push({ rule, subject: job.id, message });
    if (states.at(-1) !== job.state) say("history_state", `is ${job.state}`);
    if (isRunning(job) !== (job.owner !== null)) say("owner_while_running", `is ${job.state}`);
    if (job.attempt_count > job.max_attempts) say("attempts_within_limit", "too many");
    const open = job.after.filter((id) => disk.jobs.get(id)?.state !== "COMPLETE").length;
    if (open !== job.waiting_on) say("waiting_on_counted", `waits for ${job.waiting_on}`);
    const results = (disk.history.get(job.id) ?? [])
      .filter(({ kind }) => kind === "complete" || kind === "fail")
      .map(({ fence }) => fence);
    if (new Set(results).size !== results.length) say("one_result", "two under one fence");
  }
  return found;
}

export function filterSubmissions(all: Submission[], filter: SubmissionFilter): Submission[] {
  const { open, placed, sha256 } = filter;
  const found = all.filter(
    (one) =>
      (open === undefined || open === one.open_jobs > 0) &&
      (placed === undefined || placed === (one.placed_at_ms !== null)) &&
      (sha256 === undefined || sha256 === one.sha256),
  );
  return found.sort(byId);
}

export function filterJobs(all: readonly Job[], filter: JobFilter): Job[] {
  const { submission_id, states, owner, order, limit } = filter;
  const found = all.filter(
    (job) =>
      (submission_id === undefined || job.submission_id === submission_id) &&
      (states === undefined || states.includes(job.state)) &&
      (owner === undefined || job.owner === owner),
  );
  return found.sort(order === "rank" ? byRank : byId).slice(0, limit);
}
