/**
 * How much earlier a job must have come to weigh as much as one point of priority. With 360 s ten
 * points are worth one hour: a job of priority 110 goes before every job of priority 100 that came
 * more than an hour after it, so nothing waits for ever behind a stream of urgent work.
 */
export const AGEING_S_PER_POINT = 360;

/**
 * Place in the queue: lower runs sooner, ties go by id. Ageing is linear and the same for all, so
 * the order of two waiting jobs never changes with time, and a rank is computed once, when the job
 * is made or its priority changes. Seconds.
 */
export function rankOf(
  job: { created_at_ms: number; priority: number },
  ageing_s_per_point = AGEING_S_PER_POINT,
): number {
  return Math.floor(job.created_at_ms / 1000) + job.priority * ageing_s_per_point;
}
