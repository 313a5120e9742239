import type { JsonValue } from "../../core/json.ts";
import type { Job, JobFailure, QueueEntry } from "../../queue/resident.ts";
import type { Submission } from "../store.ts";
import type { Database, Values } from "./database.ts";

/** Columns of `jobs` that are the same in a `Job`. */
type PlainColumns = Omit<
  Job,
  "index" | "entry" | "source_sha256" | "after" | "final" | "failure" | "result"
>;

interface JobRow extends PlainColumns {
  entry_index: number;
  entry: string;
  source_sha256: string;
  /** JSON array of job ids. */
  after: string;
  final: number;
  failure: string | null;
  result: string | null;
}

/** Everything a `Job` has; follow it with WHERE, ORDER BY and LIMIT. */
const SELECT_JOB = `
SELECT j.id, j.submission_id, j.entry_index, d.entry, d.bundle_dir, s.sha256 AS source_sha256,
  j.state, j.priority, j.first_priority, j.created_at_ms, j.updated_at_ms, j.not_before_ms,
  j.retry_after_ms, j.attempt_count, j.timeout_count, j.max_attempts, j.owner_deaths, j.fence,
  j.owner, j.claimed_at_ms, j.started_at_ms, j.ended_at_ms, j.held_at_ms, j.waiting_on,
  (SELECT json_group_array(p.needs_id ORDER BY p.needs_id)
    FROM prerequisites p WHERE p.job_id = j.id) AS after,
  j.final, j.failure, d.result
FROM jobs j
JOIN job_documents d ON d.job_id = j.id
JOIN submissions s ON s.id = j.submission_id
`;

function jobOf(row: JobRow): Job {
  const { entry_index, entry, after, final, failure, result, ...plain } = row;
  return {
    ...plain,
    index: entry_index,
    entry: JSON.parse(entry) as QueueEntry,
    after: JSON.parse(after) as string[],
    final: final === 1,
    failure: failure === null ? null : (JSON.parse(failure) as JobFailure),
    result: result === null ? null : (JSON.parse(result) as unknown),
  };
}

export function readJobs(db: Database, tail: string, values: Values): Job[] {
  return db.all<JobRow>(SELECT_JOB + tail, values).map(jobOf);
}

export function readJob(db: Database, id: string): Job | undefined {
  return readJobs(db, "WHERE j.id = :id", { id })[0];
}

interface SubmissionRow extends Omit<Submission, "detail"> {
  detail: string;
}

export function readSubmissions(db: Database, tail: string, values: Values): Submission[] {
  const sql = `SELECT id, file_name, sha256, snapshot_path, accepted_at_ms, detail, total_jobs,
    open_jobs, ended_at_ms, placed_path, placed_at_ms FROM submissions `;
  return db.all<SubmissionRow>(sql + tail, values).map(({ detail, ...row }) => {
    return Object.assign(row, { detail: JSON.parse(detail) as JsonValue });
  });
}
