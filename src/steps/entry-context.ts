import type { Log } from "../core/log.ts";
import type { TreeMark } from "../core/process.ts";
import type { StepStatus } from "../queue/index.ts";
import type { HeldLock, Rooms } from "./rooms.ts";
import type { Emit } from "./run-events.ts";
import type { AdoptedStep } from "./run-step.ts";
import type { RunnerPool } from "./runner-pool.ts";
import type { StepJob, StepKind } from "./step-job.ts";
import type { SubmissionDir } from "./submission-dir.ts";
import type { SummaryStore } from "./summary-store.ts";

/** What all entries of one invocation share. */
export interface EntryContext {
  rooms: Rooms;
  pool: RunnerPool;
  lock: HeldLock;
  store: SummaryStore;
  submission: SubmissionDir;
  /** ULID of this invocation. */
  invocation: string;
  min_free_disk_mb: number;
  log: Log;
  /** Ends the running step. */
  signal: AbortSignal;
  /** Lets the running step end, and begins nothing after it. Default: `signal`. */
  soft?: AbortSignal;
  /** See `StepJob`. */
  when_orphaned?: StepJob["when_orphaned"];
  /** Told before and after a step's process is started; `own` where its runner dies with us. */
  onTree?: (started: StartedStep) => void;
  /** A step of this entry that runs already. */
  adopted?: AdoptedStep;
  emit: Emit;
}

export interface StartedStep {
  kind: StepKind;
  mark: TreeMark;
  started_ms: number;
  log_path: string;
  own_runner: boolean;
}

/** What became of one execution. */
export interface EntryEnd {
  status: StepStatus;
  /** Where `status` is neither `ok` nor `interrupted`. */
  failure: { step: string | null; message: string; incurable: boolean } | null;
}
