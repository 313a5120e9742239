import { EXIT, TouchstonedError } from "../core/errors.ts";
import type { Job } from "../queue/resident.ts";
import type { NewJob, NewSubmission } from "./store.ts";

export function idReused(what: string): TouchstonedError {
  return new TouchstonedError({
    code: "id_reused",
    exitCode: EXIT.failed,
    message: `${what} was used before; ids are never used twice`,
    hint: "Nothing was taken up. Check that this machine's clock and random source are sound.",
  });
}

/** Ids of the jobs that each job of one file waits for. Throws a TypeError on an unknown name. */
function prerequisitesOf(jobs: readonly NewJob[]): Map<string, string[]> {
  const byName = new Map(jobs.map(({ id, entry }) => [entry.id, id]));
  return new Map(
    jobs.map(({ id, entry }) => [
      id,
      [...new Set(entry.after)]
        .map((name) => {
          const found = byName.get(name);
          if (found === undefined) throw new TypeError(`no entry has the id "${name}"`);
          return found;
        })
        .sort(),
    ]),
  );
}

/** The job that a taken-up entry is at first. */
function firstJob(
  submission: NewSubmission,
  given: NewJob,
  after: string[],
  waiting_on: number,
): Job {
  const { entry, restored } = given;
  const failure = restored?.state === "FAILED" ? restored.failure : null;
  return {
    id: given.id,
    submission_id: submission.id,
    index: given.index,
    entry,
    bundle_dir: given.bundle_dir,
    source_sha256: submission.sha256,
    state: restored?.state ?? "PENDING",
    priority: entry.priority,
    first_priority: entry.priority,
    created_at_ms: submission.accepted_at_ms,
    updated_at_ms: submission.accepted_at_ms,
    not_before_ms: entry.not_before === null ? null : Date.parse(entry.not_before),
    retry_after_ms: null,
    attempt_count: 0,
    timeout_count: 0,
    max_attempts: entry.max_attempts,
    owner_deaths: 0,
    fence: 0,
    owner: null,
    claimed_at_ms: null,
    started_at_ms: null,
    ended_at_ms: restored?.ended_at_ms ?? null,
    held_at_ms: null,
    after,
    waiting_on,
    final: failure !== null,
    failure,
    result: restored?.state === "COMPLETE" ? restored.result : null,
  };
}

/** The jobs that a new submission starts with. Throws a TypeError where there is none. */
export function firstJobs(submission: NewSubmission, given: readonly NewJob[]): Job[] {
  if (given.length === 0) throw new TypeError("a submission has at least one job");
  const prerequisites = prerequisitesOf(given);
  const complete = new Set(
    given.filter((job) => job.restored?.state === "COMPLETE").map(({ id }) => id),
  );
  return given.map((job) => {
    const after = prerequisites.get(job.id) ?? [];
    const open = after.filter((id) => !complete.has(id)).length;
    return firstJob(submission, job, after, open);
  });
}

/** Kind and reason of a new job's first line in its history. */
export function firstEvent(job: Job): readonly [kind: string, reason: string | null] {
  if (job.state === "PENDING") return ["accept", null];
  if (job.state === "COMPLETE") return ["restore", "found valid results"];
  return ["restore", "had ended so before the store was made anew"];
}
