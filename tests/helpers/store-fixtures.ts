import { modelSpecSchema } from "../../src/core/model-spec.ts";
import type { QueueEntry } from "../../src/queue/index.ts";
import type { NewJob, NewSubmission, Owner } from "../../src/store/index.ts";

export const T0 = Date.UTC(2026, 0, 15, 20, 0, 0);

export function entryOf(change: Partial<QueueEntry> = {}): QueueEntry {
  return {
    index: 0,
    id: null,
    runner: "local",
    model: modelSpecSchema.parse({ id: "made" }),
    config: null,
    pack: "packs/smoke.yaml",
    judge_config: null,
    judge_model: null,
    reset_command: null,
    settle: { timeout_s: 120, plateau_polls: 3, poll_interval_s: 2, epsilon_mb: 200 },
    step_timeout_s: { load: 3600, eval: 14_400, judge: 21_600 },
    idle_timeout_s: { eval: 1800, judge: 1800 },
    cooldown_s: 0,
    priority: 100,
    not_before: null,
    max_attempts: 5,
    after: [],
    memory_mb: null,
    key: "0".repeat(64),
    ...change,
  };
}

export function submissionOf(id: string, change: Partial<NewSubmission> = {}): NewSubmission {
  return {
    id,
    file_name: `${id}.yaml`,
    sha256: `sha of ${id}`,
    snapshot_path: `/state/snapshots/${id}.yaml`,
    accepted_at_ms: T0,
    detail: { inode: 12 },
    ...change,
  };
}

/** Jobs `<submission>-0`, `-1` ... with the given entries. */
export function jobsOf(submission: string, entries: readonly Partial<QueueEntry>[]): NewJob[] {
  return entries.map((change, index) => ({
    id: `${submission}-${index}`,
    index,
    entry: entryOf({ index, ...change }),
    bundle_dir: `/runs/${submission}/${index}`,
  }));
}

export function ownerOf(id: string, change: Partial<Owner> = {}): Owner {
  return { id, host: "box", pid: 4711, start_token: "10", boot_id: "boot-a", ...change };
}
