import { isoTime } from "../core/clock.ts";
import { isRunning, isWaiting, type Job } from "../queue/index.ts";

/** That a job can never run here; empty where it can, or where nobody knows. */
function tooBig(job: Job, memory_mb: number | null): string {
  const needs = job.entry.memory_mb ?? null;
  if (needs === null || memory_mb === null || needs <= memory_mb) return "";
  return `never here: needs ${needs} MB of memory, this machine has ${memory_mb} MB`;
}

/**
 * Why a job is where it is, in a few words; empty where its state says it all. `memory_mb` is what a
 * model can have here, as the daemon found it.
 */
export function jobNote(job: Job, now_ms: number, memory_mb: number | null): string {
  if (job.held_at_ms !== null) return "held";
  if (isRunning(job))
    return job.started_at_ms === null ? "" : `since ${isoTime(job.started_at_ms)}`;
  if (job.state === "COMPLETE" || job.state === "CANCELLED") return "";
  const failed = job.failure === null ? "" : `: ${job.failure.message}`;
  if (!isWaiting(job)) return `for good${failed}`;
  const big = tooBig(job, memory_mb);
  if (big !== "") return big;
  if (job.waiting_on > 0)
    return `waits for ${job.waiting_on} other job${job.waiting_on > 1 ? "s" : ""}`;
  if (job.retry_after_ms !== null) return `again after ${isoTime(job.retry_after_ms)}${failed}`;
  if (job.not_before_ms !== null && job.not_before_ms > now_ms) {
    return `not before ${isoTime(job.not_before_ms)}`;
  }
  return "";
}

/** Columns that are as wide as what stands in them. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
