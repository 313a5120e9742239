/** A step that ran into a limit once may have been unlucky; twice is the job's own nature. */
export const MAX_TIMEOUTS = 2;

/** So often may a job take its owner with it before that counts as a failure of the job. */
export const MAX_OWNER_DEATHS = 3;

const FIRST_DELAY_MS = 5 * 60_000;
const LONGEST_DELAY_MS = 60 * 60_000;
const PRIORITY_PER_ATTEMPT = 5;

/**
 * `incurable`: no retry can help. `owner_died`: the job ended its owner too often.
 * `prerequisite`: a job that this one waited for ended otherwise than COMPLETE, so it never ran.
 */
export type FailureKind =
  | "error"
  | "timeout"
  | "stalled"
  | "incurable"
  | "owner_died"
  | "prerequisite";

export interface Attempts {
  /** Executions that failed. */
  attempt_count: number;
  /** Those of them that ended with `timeout` or `stalled`. */
  timeout_count: number;
  max_attempts: number;
  priority: number;
}

/** Wait after the n-th failure, n from 1: 5, 10, 20, 40 minutes, then an hour each time. */
export function retryDelayMs(attempt_count: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (attempt_count - 1), LONGEST_DELAY_MS);
}

/** What a failure makes of a job's counters. `retry_after_ms` is null where no attempt is left. */
export function afterFailure<T extends Attempts>(
  job: T,
  kind: FailureKind,
  now_ms: number,
): T & { retry_after_ms: number | null; final: boolean } {
  if (kind === "prerequisite") return { ...job, retry_after_ms: null, final: true };
  const attempt_count = job.attempt_count + 1;
  const limited = kind === "timeout" || kind === "stalled";
  const timeout_count = job.timeout_count + (limited ? 1 : 0);
  const final =
    kind === "incurable" || attempt_count >= job.max_attempts || timeout_count >= MAX_TIMEOUTS;
  return {
    ...job,
    attempt_count,
    timeout_count,
    priority: job.priority + PRIORITY_PER_ATTEMPT * attempt_count,
    final,
    retry_after_ms: final ? null : now_ms + retryDelayMs(attempt_count),
  };
}
