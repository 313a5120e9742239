import type { QueueEntry } from "./queue-file.ts";
import { afterFailure, MAX_OWNER_DEATHS, type FailureKind } from "./retry.ts";

export const JOB_STATES = [
  "PENDING",
  "CLAIMED",
  "IN_PROGRESS",
  "COMPLETE",
  "FAILED",
  "CANCELLED",
] as const;

export type JobState = (typeof JOB_STATES)[number];

/** Why an execution failed. */
export interface JobFailure {
  kind: FailureKind;
  message: string;
  /** The step that failed, where it was one. */
  step: string | null;
}

/** One entry of a queue file on its way. Times are milliseconds since 1970 UTC. */
export interface Job {
  /** ULID, never used twice. */
  id: string;
  submission_id: string;
  /** Place in the queue file. */
  index: number;
  entry: QueueEntry;
  bundle_dir: string;
  /** SHA-256 of the queue file. */
  source_sha256: string;
  state: JobState;
  /** Lower runs sooner; rises with each failure. */
  priority: number;
  /** What the queue file said; a retry by hand goes back to it. */
  first_priority: number;
  created_at_ms: number;
  updated_at_ms: number;
  not_before_ms: number | null;
  /** Only while FAILED with attempts left. */
  retry_after_ms: number | null;
  attempt_count: number;
  timeout_count: number;
  max_attempts: number;
  /** Owners that died while they ran it, since it last failed. */
  owner_deaths: number;
  /** Raised by each claim, and whenever it is taken from its owner; every write names it. */
  fence: number;
  /** Who runs it: only while CLAIMED or IN_PROGRESS. */
  owner: string | null;
  claimed_at_ms: number | null;
  started_at_ms: number | null;
  ended_at_ms: number | null;
  held_at_ms: number | null;
  /** Ids of the jobs that must be COMPLETE first, and how many of them are not. */
  after: string[];
  waiting_on: number;
  /** FAILED for good. */
  final: boolean;
  failure: JobFailure | null;
  /** What `complete` was given. */
  result: unknown;
}

/** What may happen to a job. Those with a `fence` come from its owner. */
export type JobEvent =
  | { kind: "claim"; owner: string }
  | { kind: "start"; fence: number }
  | { kind: "complete"; fence: number; result: unknown }
  | { kind: "fail"; fence: number; failure: JobFailure }
  /** Handed back: a shutdown or the like, which is nobody's fault. */
  | { kind: "interrupt"; fence: number; reason: string }
  /** Another owner takes over what still runs. */
  | { kind: "adopt"; fence: number; owner: string }
  | { kind: "owner_died"; reason: string }
  | { kind: "prerequisite_failed"; reason: string }
  | { kind: "cancel" }
  | { kind: "retry" }
  | { kind: "hold" }
  | { kind: "release" };

type RefusalCode = "not_found" | "stale_fence" | "wrong_state" | "prerequisite_ended";

export interface Refusal {
  ok: false;
  code: RefusalCode;
  /** For people; names the job and what it is now. */
  reason: string;
}

/** `changed` is false where the job already was what was asked for. */
export type Transition = { ok: true; job: Job; changed: boolean } | Refusal;

type Facts = Pick<Job, "state" | "final">;

/** Nothing but an operator brings it back. */
export function isEnded(job: Facts): boolean {
  return (
    job.state === "COMPLETE" || job.state === "CANCELLED" || (job.state === "FAILED" && job.final)
  );
}

export function isRunning(job: Pick<Job, "state">): boolean {
  return job.state === "CLAIMED" || job.state === "IN_PROGRESS";
}

/** PENDING, or FAILED with attempts left: a claim takes it once it is due, free and unblocked. */
export function isWaiting(job: Facts): boolean {
  return job.state === "PENDING" || (job.state === "FAILED" && !job.final);
}

/** Earliest time at which a waiting job may be claimed; 0 = at any time. */
export function dueAtMs(job: Pick<Job, "not_before_ms" | "retry_after_ms">): number {
  return Math.max(job.not_before_ms ?? 0, job.retry_after_ms ?? 0);
}

/** Waiting, and neither held nor blocked: only time keeps it from being claimed. */
export function isClaimable(job: Facts & Pick<Job, "held_at_ms" | "waiting_on">): boolean {
  return isWaiting(job) && job.held_at_ms === null && job.waiting_on === 0;
}

function described(job: Job): string {
  const tail = job.state === "FAILED" ? (job.final ? " for good" : ", to be retried") : "";
  return `job ${job.id} is ${job.state}${tail}`;
}

function refuse(code: RefusalCode, reason: string): Refusal {
  return { ok: false, code, reason };
}

function wrongState(job: Job, kind: JobEvent["kind"]): Refusal {
  return refuse("wrong_state", `${described(job)}: cannot ${kind.replaceAll("_", " ")}`);
}

/** Undefined where `fence` is the one of the claim that runs the job now. */
export function fenceFault(job: Job, fence: number): Refusal | undefined {
  if (isRunning(job) && job.fence === fence) return undefined;
  if (!isRunning(job)) return refuse("wrong_state", `${described(job)}: nobody runs it`);
  return refuse("stale_fence", `${described(job)} under fence ${job.fence}: ${fence} is not valid`);
}

const AT_REST = { owner: null, claimed_at_ms: null, started_at_ms: null } as const;

function failed(job: Job, failure: JobFailure, now_ms: number): Job {
  const after = afterFailure(job, failure.kind, now_ms);
  const ended_at_ms = after.final ? now_ms : null;
  return { ...after, ...AT_REST, state: "FAILED", failure, owner_deaths: 0, ended_at_ms };
}

function afterOwnerDeath(job: Job, reason: string, now_ms: number): Job {
  // A claim that had not started is not what ended its owner.
  const owner_deaths = job.owner_deaths + (job.state === "IN_PROGRESS" ? 1 : 0);
  const fenced = { ...job, owner_deaths, fence: job.fence + 1 };
  if (owner_deaths < MAX_OWNER_DEATHS) return { ...fenced, ...AT_REST, state: "PENDING" };
  const message = `${owner_deaths} owners died while they ran it; the last: ${reason}`;
  return failed(fenced, { kind: "owner_died", message, step: null }, now_ms);
}

function claimed(job: Job, owner: string, now_ms: number): Job | Refusal {
  if (!isClaimable(job)) return wrongState(job, "claim");
  if (dueAtMs(job) > now_ms) {
    return refuse("wrong_state", `${described(job)} and not due before ${dueAtMs(job)} ms`);
  }
  const fence = job.fence + 1;
  return { ...job, state: "CLAIMED", owner, fence, claimed_at_ms: now_ms, retry_after_ms: null };
}

function retried(job: Job): Job | Refusal {
  if (job.state !== "FAILED") return wrongState(job, "retry");
  return {
    ...job,
    state: "PENDING",
    priority: job.first_priority,
    attempt_count: 0,
    timeout_count: 0,
    owner_deaths: 0,
    retry_after_ms: null,
    ended_at_ms: null,
    final: false,
    failure: null,
  };
}

type Rules = {
  [K in JobEvent["kind"]]: (
    job: Job,
    event: Extract<JobEvent, { kind: K }>,
    now_ms: number,
  ) => Job | Refusal;
};

const STARTS_FROM = { start: "CLAIMED", complete: "IN_PROGRESS", fail: "IN_PROGRESS" } as const;

const RULES: Rules = {
  claim: (job, { owner }, now_ms) => claimed(job, owner, now_ms),
  start: (job, _event, now_ms) => ({ ...job, state: "IN_PROGRESS", started_at_ms: now_ms }),
  complete(job, { result }, now_ms) {
    const state = "COMPLETE";
    return { ...job, state, owner: null, ended_at_ms: now_ms, failure: null, result };
  },
  fail: (job, { failure }, now_ms) => failed(job, failure, now_ms),
  interrupt: (job) => ({ ...job, ...AT_REST, state: "PENDING" }),
  adopt: (job, { owner }) => ({ ...job, owner, fence: job.fence + 1 }),
  owner_died(job, { kind, reason }, now_ms) {
    return isRunning(job) ? afterOwnerDeath(job, reason, now_ms) : wrongState(job, kind);
  },
  prerequisite_failed(job, { kind, reason }, now_ms) {
    if (!isWaiting(job) || job.waiting_on === 0) return wrongState(job, kind);
    return failed(job, { kind: "prerequisite", message: reason, step: null }, now_ms);
  },
  cancel(job, { kind }, now_ms) {
    if (job.state === "CANCELLED") return job;
    if (job.state === "COMPLETE") return wrongState(job, kind);
    const state = "CANCELLED";
    const ended = { owner: null, retry_after_ms: null, final: false, ended_at_ms: now_ms };
    return { ...job, ...ended, state };
  },
  retry: (job) => retried(job),
  hold(job, { kind }, now_ms) {
    if (isEnded(job)) return wrongState(job, kind);
    return job.held_at_ms === null ? { ...job, held_at_ms: now_ms } : job;
  },
  release(job, { kind }) {
    if (isEnded(job)) return wrongState(job, kind);
    return job.held_at_ms === null ? job : { ...job, held_at_ms: null };
  },
};

function next(job: Job, event: JobEvent, now_ms: number): Job | Refusal {
  if ("fence" in event) {
    const fault = fenceFault(job, event.fence);
    if (fault !== undefined) return fault;
  }
  const { kind } = event;
  if (kind === "start" || kind === "complete" || kind === "fail") {
    if (job.state !== STARTS_FROM[kind]) return wrongState(job, kind);
  }
  // The key picks the function for this very kind; TypeScript cannot follow that through a union.
  return RULES[kind](job, event as never, now_ms);
}

/**
 * The one rule book: what `event` makes of `job`, or why it may not happen. Pure. Every store goes
 * by it, so that no two stores differ in what a job may become.
 */
export function transition(job: Job, event: JobEvent, now_ms: number): Transition {
  const result = next(job, event, now_ms);
  if ("ok" in result) return result;
  if (result === job) return { ok: true, job, changed: false };
  return { ok: true, job: { ...result, updated_at_ms: now_ms }, changed: true };
}
