import type { Clock } from "../core/clock.ts";
import type { UlidSource } from "../core/ids.ts";
import type { LookedModel } from "../queue/index.ts";
import type { ProcessTree, TreeExit, TreeMark } from "../core/process.ts";
import type { Runner, RunnerSettings } from "../runners/index.ts";
import type { StepJob, StepKind } from "./step-job.ts";

/** The model lock as the steps see it. */
export interface HeldLock {
  path: string;
  release(): void;
}

/** A runner of our own. */
export interface OwnRunner {
  runner: Runner;
  url: string;
  pid: number;
  /** Keeps its log within bounds; to be called now and then. */
  trim(): void;
  stop(): Promise<void>;
  exited: Promise<TreeExit>;
}

/** Reads and checks the files that entries name. Each throws a known error with line and column. */
export interface Loaders {
  /** Absolute real path inside the station. */
  confine(path: string, what: string): string;
  /** The same inside the station or one of the folders where models may lie. */
  confineModel(path: string, what: string): string;
  /** A model disk file; `named` is its path as the queue file has it. */
  model(path: string, named: string): { sha256: string; warnings: string[]; model: LookedModel };
  pack(path: string): { sha256: string; id: string };
  /** `runner`: the declared runner whose URL the config names. */
  config(path: string): { sha256: string; runner: string | null; warnings: string[] };
  judge_config(path: string): { sha256: string; warnings: string[] };
}

/** Who judges an entry. */
interface JudgeTarget {
  /** null: the runner of the entry. */
  runner: string | null;
  model: string;
}

/** A running step and where its output goes. */
export interface RunningStep {
  tree: Pick<ProcessTree, "pid" | "exited" | "members" | "end">;
  log_path: string;
  /** The end of its output so far. */
  output(): string;
  /** Keeps the output's file within its limit; called now and then. */
  trim(): void;
  close(): void;
}

/**
 * What a submission needs of the world. The real ones are bound in `real-rooms.ts`; tests bring
 * their own for the faults that real ones do not show on demand.
 */
export interface Rooms {
  clock: Clock;
  new_id: UlidSource;
  /** Throws busy (exit 75) naming the holder. */
  lock(options: {
    wait_s: number;
    purpose: string;
    run_id: string | null;
    signal: AbortSignal;
    /** For who does not wait here and comes back soon: keeps those who share the lock from going on. */
    comes_back?: boolean;
  }): Promise<HeldLock>;
  resolveRunner(name: string): RunnerSettings;
  connect(settings: RunnerSettings): Runner;
  startRunner(
    settings: RunnerSettings,
    options: { work_dir: string; signal: AbortSignal },
  ): Promise<OwnRunner>;
  /** Memory in use on this host, MB; null where it cannot be read. */
  used_mb(): number | null;
  free_disk_mb(path: string): number | null;
  startStep(
    job: StepJob,
    options: {
      api_key: string | null;
      lock: HeldLock;
      /** Called before the child is started, and again when it has a number. */
      onTree?: (mark: TreeMark) => void;
    },
  ): RunningStep;
  /** What is missing of what a step owes, newer than `started_ms`; null = all there. */
  stepFault(kind: StepKind, bundle_dir: string, started_ms: number): string | null;
  judgeTarget(config: string, model: string | null): JudgeTarget;
}
