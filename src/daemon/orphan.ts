import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { adoptTree } from "../core/process.ts";
import { isAlive } from "../core/process-table.ts";
import type { Job } from "../queue/resident.ts";
import type { AdoptedStep } from "../steps/resident.ts";
import type { Store } from "../store/index.ts";
import type { Registered } from "./owner.ts";
import { dropRunning, readRunning, type RunningRecord } from "./running-record.ts";

/** Seconds between SIGTERM and SIGKILL for an orphan that is of no use. */
const GRACE_S = 10;

export interface OrphanOptions {
  store: Pick<Store, "job" | "adopt" | "owners">;
  owner: Registered;
  running_path: string;
  clock: Clock;
  log: Log;
}

export interface Adopted {
  job: Job;
  step: AdoptedStep;
}

/** Why the orphan cannot be left to finish; null where it can. */
function useless(record: RunningRecord, job: Job | undefined): string | null {
  if (record.own_runner) return "its runner died with the daemon that had started both";
  if (record.root === null || !isAlive(record.root)) return "its own process has ended";
  if (job?.state !== "IN_PROGRESS" || job.fence !== record.fence) return "its job is not running";
  return null;
}

/**
 * Sees to the step that an earlier daemon of this station left running. One that can still give a
 * result is adopted with its job; any other tree that is proven ours is ended. What cannot be proven
 * ours is let alone: it holds the model lock, and we wait for that as for anybody's.
 */
export async function adoptOrphan(options: OrphanOptions): Promise<Adopted | null> {
  const { store, owner, clock, log, running_path } = options;
  const record = readRunning(running_path);
  if (record === undefined) return null;
  const tree = adoptTree({ root: record.root, token: record.token }, clock);
  if (tree.members().length === 0) {
    dropRunning(running_path);
    return null;
  }
  const job = await store.job(record.job_id);
  const why = useless(record, job);
  if (why === null && job !== undefined) {
    const outcome = await store.adopt(job.id, record.fence, owner.id, clock.now_ms());
    if (outcome.ok) {
      log.warn({ job: job.id, pid: tree.pid, step: record.kind }, "adopted a step that ran on");
      const { kind, started_ms, log_path } = record;
      return { job: outcome.job, step: { kind, tree, started_ms, log_path } };
    }
    log.warn({ job: job.id }, `not adopted: ${outcome.reason}`);
  }
  log.warn({ job: record.job_id, pids: tree.members() }, `ending an orphaned step: ${why ?? ""}`);
  const survivors = await tree.end(GRACE_S);
  if (survivors.length > 0) log.error({ survivors }, "an orphaned step could not be ended");
  else dropRunning(running_path);
  return null;
}
