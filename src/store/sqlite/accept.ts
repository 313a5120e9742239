import { isEnded, type Job } from "../../queue/resident.ts";
import { firstEvent, firstJobs, idReused } from "../new-job.ts";
import type { AcceptReport, NewJob, NewSubmission } from "../store.ts";
import type { Database, Values } from "./database.ts";
import { hotColumns, insertEvent } from "./write-job.ts";

const INSERT_SUBMISSION = `
INSERT INTO submissions (id, file_name, sha256, snapshot_path, accepted_at_ms, detail,
  total_jobs, open_jobs, ended_at_ms)
VALUES (:id, :file_name, :sha256, :snapshot_path, :accepted_at_ms, :detail,
  :total_jobs, :open_jobs, :ended_at_ms)`;

const INSERT_DOCUMENT = `
INSERT INTO job_documents (job_id, entry, bundle_dir, result)
VALUES (:job_id, :entry, :bundle_dir, :result)`;

function insertJob(db: Database, job: Job): void {
  const columns: Values = {
    ...hotColumns(job, job.created_at_ms),
    id: job.id,
    submission_id: job.submission_id,
    entry_index: job.index,
    runner: job.entry.runner,
    memory_mb: job.entry.memory_mb,
    first_priority: job.first_priority,
    created_at_ms: job.created_at_ms,
    not_before_ms: job.not_before_ms,
    max_attempts: job.max_attempts,
  };
  const names = Object.keys(columns);
  db.run(
    `INSERT INTO jobs (${names.join(", ")}) VALUES (${names.map((name) => `:${name}`).join(", ")})`,
    columns,
  );
  db.run(INSERT_DOCUMENT, {
    job_id: job.id,
    entry: JSON.stringify(job.entry),
    bundle_dir: job.bundle_dir,
    result: job.state === "COMPLETE" ? JSON.stringify(job.result) : null,
  });
  const [kind, reason] = firstEvent(job);
  insertEvent(db, { before: null, after: job, kind, reason, now_ms: job.created_at_ms });
}

function insertAll(db: Database, submission: NewSubmission, jobs: readonly Job[]): void {
  const open_jobs = jobs.filter((job) => !isEnded(job)).length;
  const ends = jobs.map((job) => job.ended_at_ms ?? 0);
  db.run(INSERT_SUBMISSION, {
    ...submission,
    detail: JSON.stringify(submission.detail),
    total_jobs: jobs.length,
    open_jobs,
    ended_at_ms: open_jobs > 0 ? null : Math.max(...ends),
  });
  for (const job of jobs) insertJob(db, job);
  for (const { id, after } of jobs) {
    for (const needs_id of after) {
      const values = { job_id: id, needs_id };
      db.run("INSERT INTO prerequisites (job_id, needs_id) VALUES (:job_id, :needs_id)", values);
    }
  }
}

/** See `Store.accept`. */
export function accept(
  db: Database,
  submission: NewSubmission,
  given: readonly NewJob[],
): AcceptReport {
  const jobs = firstJobs(submission, given);
  return db.write(() => {
    const { id, sha256 } = submission;
    const same = db.one<{ sha256: string }>("SELECT sha256 FROM submissions WHERE id = :id", {
      id,
    });
    if (same !== undefined) {
      if (same.sha256 !== sha256) throw idReused(`submission id ${id}`);
      return { outcome: "already", submission_id: id };
    }
    // What had ended long ago stands in nobody's way.
    const ended = jobs.every((job) => isEnded(job));
    const open = db.one<{ id: string }>(
      "SELECT id FROM submissions WHERE sha256 = :sha256 AND open_jobs > 0 ORDER BY id LIMIT 1",
      { sha256 },
    );
    if (open !== undefined && !ended) return { outcome: "duplicate", submission_id: open.id };
    const seen = new Set<string>();
    for (const job of jobs) {
      const there = db.one("SELECT 1 FROM jobs WHERE id = :id", { id: job.id });
      if (there !== undefined || seen.has(job.id)) throw idReused(`job id ${job.id}`);
      seen.add(job.id);
    }
    insertAll(db, submission, jobs);
    return { outcome: "accepted", submission_id: id };
  });
}
