import type { JsonValue } from "../../core/json.ts";
import { JOB_STATES, type Job, type JobState } from "../../queue/light.ts";
import type {
  Able,
  Blocked,
  JobFilter,
  JobHistory,
  RecordedStep,
  Submission,
  SubmissionFilter,
} from "../store.ts";
import type { Database, Values } from "./database.ts";
import { readJobs, readSubmissions } from "./rows.ts";
import { FITS } from "./fits.ts";
import { LANE } from "./write-job.ts";

/** See `Store.submissions`. */
export function listSubmissions(db: Database, filter: SubmissionFilter): Submission[] {
  const where: string[] = [];
  const values: Values = {};
  if (filter.open !== undefined) where.push(filter.open ? "open_jobs > 0" : "open_jobs = 0");
  if (filter.placed !== undefined) {
    where.push(`placed_at_ms IS ${filter.placed ? "NOT NULL" : "NULL"}`);
  }
  if (filter.sha256 !== undefined) {
    where.push("sha256 = :sha256");
    values["sha256"] = filter.sha256;
  }
  const condition = where.length === 0 ? "" : `WHERE ${where.join(" AND ")} `;
  return readSubmissions(db, `${condition}ORDER BY id`, values);
}

/** See `Store.jobs`. */
export function listJobs(db: Database, filter: JobFilter): Job[] {
  const where: string[] = [];
  const values: Values = { limit: filter.limit ?? -1 };
  if (filter.submission_id !== undefined) {
    where.push("j.submission_id = :submission_id");
    values["submission_id"] = filter.submission_id;
  }
  if (filter.owner !== undefined) {
    where.push("j.owner = :owner");
    values["owner"] = filter.owner;
  }
  if (filter.states !== undefined) {
    where.push("j.state IN (SELECT value FROM json_each(:states))");
    values["states"] = JSON.stringify(filter.states);
  }
  const condition = where.length === 0 ? "" : `WHERE ${where.join(" AND ")} `;
  const order = filter.order === "rank" ? "j.rank_s, j.id" : "j.id";
  return readJobs(db, `${condition}ORDER BY ${order} LIMIT :limit`, values);
}

export function readHistory(db: Database, job_id: string): JobHistory[] {
  return db.all<JobHistory>(
    `SELECT at_ms, kind, from_state AS "from", to_state AS "to", fence, owner, reason
      FROM job_events WHERE job_id = :job_id ORDER BY seq`,
    { job_id },
  );
}

interface StepRow extends Omit<RecordedStep, "record"> {
  record: string;
}

export function readSteps(db: Database, job_id: string): RecordedStep[] {
  const rows = db.all<StepRow>(
    "SELECT step, status, record, fence, at_ms FROM job_steps WHERE job_id = :job_id ORDER BY seq",
    { job_id },
  );
  return rows.map(({ record, ...row }) => {
    return Object.assign(row, { record: JSON.parse(record) as JsonValue });
  });
}

export function readCounts(db: Database): Record<JobState, number> {
  const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0]));
  const rows = db.all<{ state: string; n: number }>(
    "SELECT state, count(*) AS n FROM jobs GROUP BY state",
  );
  for (const { state, n } of rows) counts[state] = n;
  return counts as Record<JobState, number>;
}

function heldAt(db: Database): number | null {
  const row = db.one<{ held_at_ms: number }>("SELECT held_at_ms FROM queue_hold");
  return row?.held_at_ms ?? null;
}

const READY_NOW = `
SELECT 1 FROM jobs WHERE lane = ${LANE.ready} AND runner = :runner AND due_at_ms <= :now_ms
  AND ${FITS} LIMIT 1`;
/** The lane `ready` is looked at as well: the clock may have been set back since. */
const EARLIEST = `
SELECT min(due_at_ms) AS due FROM (
  SELECT min(due_at_ms) AS due_at_ms FROM jobs
    WHERE lane = ${LANE.deferred} AND runner = :runner AND ${FITS}
  UNION ALL
  SELECT min(due_at_ms) FROM jobs
    WHERE lane = ${LANE.ready} AND runner = :runner AND ${FITS})`;

function earliest(db: Database, now_ms: number, can: Able): number | null {
  const memory_mb = can.memory_mb ?? null;
  let earliest_ms: number | null = null;
  for (const runner of can.runners) {
    if (db.one(READY_NOW, { runner, now_ms, memory_mb }) !== undefined) return now_ms;
    const due = db.one<{ due: number | null }>(EARLIEST, { runner, memory_mb })?.due ?? null;
    if (due !== null) earliest_ms = Math.min(earliest_ms ?? Infinity, Math.max(due, now_ms));
  }
  return earliest_ms;
}

/** See `Store.nextDue`. */
export function nextDue(db: Database, now_ms: number, can: Able): number | null {
  return db.read(() => (heldAt(db) === null ? earliest(db, now_ms, can) : null));
}

const WAITING = "final = 0 AND state IN ('PENDING', 'FAILED')";

/** See `Store.blocked`. */
export function readBlocked(db: Database, now_ms: number, can: Able): Blocked {
  const { memory_mb = null } = can;
  const values = { now_ms, runners: JSON.stringify(can.runners) };
  const count = (condition: string, used: Values = {}) =>
    db.one<{ n: number }>(`SELECT count(*) AS n FROM jobs WHERE ${condition}`, used)?.n ?? 0;
  return db.read(() => {
    const mine = "runner IN (SELECT value FROM json_each(:runners))";
    const due = `lane IN (${LANE.deferred}, ${LANE.ready}) AND due_at_ms <= :now_ms`;
    const ready = count(`${due} AND ${mine} AND ${FITS}`, { ...values, memory_mb });
    const next = ready > 0 ? null : earliest(db, now_ms, can);
    return {
      queue_held_at_ms: heldAt(db),
      ready,
      not_due: count(`lane IN (${LANE.deferred}, ${LANE.ready}) AND due_at_ms > :now_ms`, {
        now_ms,
      }),
      next_due_ms: next,
      held: count(`held_at_ms IS NOT NULL AND ${WAITING}`),
      waiting_on_others: count(`waiting_on > 0 AND held_at_ms IS NULL AND ${WAITING}`),
      other_runner: count(`${due} AND NOT (${mine})`, values),
      too_big: count(`${due} AND ${mine}`, values) - ready,
      running: count("owner IS NOT NULL"),
    };
  });
}
