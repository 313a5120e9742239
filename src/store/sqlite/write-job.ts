import {
  dueAtMs,
  isClaimable,
  isEnded,
  rankOf,
  transition,
  type Job,
  type JobEvent,
  type Refusal,
} from "../../queue/light.ts";
import type { JobOutcome } from "../store.ts";
import type { Database, Values } from "./database.ts";
import { readJob } from "./rows.ts";

export const LANE = { none: 0, deferred: 1, ready: 2 } as const;

/** See schema-v1.ts. */
function laneOf(job: Job, now_ms: number): number {
  if (!isClaimable(job)) return LANE.none;
  return dueAtMs(job) <= now_ms ? LANE.ready : LANE.deferred;
}

/** What the store keeps beside a job so that a claim need not think. */
function derived(job: Job, now_ms: number) {
  return { lane: laneOf(job, now_ms), rank_s: rankOf(job), due_at_ms: dueAtMs(job) };
}

/** What changes in the life of a job, as columns. */
export function hotColumns(job: Job, now_ms: number) {
  return {
    ...derived(job, now_ms),
    state: job.state,
    priority: job.priority,
    updated_at_ms: job.updated_at_ms,
    retry_after_ms: job.retry_after_ms,
    attempt_count: job.attempt_count,
    timeout_count: job.timeout_count,
    owner_deaths: job.owner_deaths,
    fence: job.fence,
    owner: job.owner,
    claimed_at_ms: job.claimed_at_ms,
    started_at_ms: job.started_at_ms,
    ended_at_ms: job.ended_at_ms,
    held_at_ms: job.held_at_ms,
    waiting_on: job.waiting_on,
    final: job.final ? 1 : 0,
    untold: isEnded(job) && job.state !== "COMPLETE" ? 1 : 0,
    failure: job.failure === null ? null : JSON.stringify(job.failure),
  };
}

let updateSql: string | undefined;

function updateJob(db: Database, job: Job, now_ms: number): void {
  const columns = hotColumns(job, now_ms);
  updateSql ??= `UPDATE jobs SET ${Object.keys(columns)
    .map((name) => `${name} = :${name}`)
    .join(", ")} WHERE id = :id`;
  db.run(updateSql, { ...columns, id: job.id });
}

const INSERT_EVENT = `
INSERT INTO job_events (job_id, at_ms, kind, from_state, to_state, fence, owner, final, reason)
VALUES (:job_id, :at_ms, :kind, :from_state, :to_state, :fence, :owner, :final, :reason)`;

export interface Change {
  /** Null for a job that is new. */
  before: Job | null;
  after: Job;
  kind: string;
  reason: string | null;
  now_ms: number;
}

export function insertEvent(db: Database, { before, after, kind, reason, now_ms }: Change): void {
  const values: Values = {
    job_id: after.id,
    at_ms: now_ms,
    kind,
    from_state: before?.state ?? null,
    to_state: after.state,
    fence: after.fence,
    owner: after.owner ?? before?.owner ?? null,
    final: after.final ? 1 : 0,
    reason,
  };
  db.run(INSERT_EVENT, values);
}

function reasonOf(event: JobEvent): string | null {
  if ("reason" in event) return event.reason;
  return event.kind === "fail" ? `${event.failure.kind}: ${event.failure.message}` : null;
}

const COUNT_OPEN = `
UPDATE submissions SET open_jobs = open_jobs + :change,
  ended_at_ms = CASE WHEN open_jobs + :change > 0 THEN NULL ELSE :now_ms END
WHERE id = :id`;

/** One prerequisite less; who has none left may be claimed. */
const FREE_DEPENDANTS = `
UPDATE jobs SET waiting_on = waiting_on - 1,
  lane = CASE
    WHEN waiting_on > 1 OR held_at_ms IS NOT NULL OR final = 1
      OR state NOT IN ('PENDING', 'FAILED') THEN ${LANE.none}
    WHEN due_at_ms <= :now_ms THEN ${LANE.ready}
    ELSE ${LANE.deferred} END
WHERE id IN (SELECT job_id FROM prerequisites WHERE needs_id = :id)`;

/** Writes one change with all that follows from it. Within a transaction. */
function save(db: Database, change: Change & { before: Job }): void {
  const { before, after, now_ms } = change;
  updateJob(db, after, now_ms);
  insertEvent(db, change);
  const opened = Number(isEnded(before)) - Number(isEnded(after));
  if (opened !== 0) db.run(COUNT_OPEN, { change: opened, now_ms, id: after.submission_id });
  if (after.state !== "COMPLETE") return;
  const result = JSON.stringify(after.result ?? null);
  db.run("UPDATE job_documents SET result = :result WHERE job_id = :id", { result, id: after.id });
  db.run(FREE_DEPENDANTS, { now_ms, id: after.id });
}

export function notFound(id: string): Refusal {
  return { ok: false, code: "not_found", reason: `there is no job ${id}` };
}

/** Does `event` to a job, as far as the rules allow. Within a transaction. */
export function applyEvent(db: Database, id: string, event: JobEvent, now_ms: number): JobOutcome {
  const before = readJob(db, id);
  if (before === undefined) return notFound(id);
  const result = transition(before, event, now_ms);
  if (!result.ok) return result;
  if (result.changed) {
    const change = { before, after: result.job, kind: event.kind, reason: reasonOf(event), now_ms };
    save(db, change);
  }
  return { ok: true, job: result.job };
}
