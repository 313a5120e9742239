import type {
  ExtraWish,
  ReadingsRecorder,
  Sampling,
  SweepProgress,
} from "../../calibrate/index.ts";
import type { Clock } from "../../core/clock.ts";
import type { CommitReport } from "../../evidence/index.ts";
import type { Station } from "../../station/index.ts";
import type { Verdict } from "../../verdict/index.ts";
import type { PlanWish } from "./plan.ts";

interface CalibrationWish extends PlanWish {
  /** Path of a corpus; else the station's own. */
  corpus?: string | undefined;
  max_tokens?: number | undefined;
  extras?: readonly ExtraWish[] | undefined;
  /** Also report the number with answers drawn so; null = as the runner does by itself. */
  production_sampling?: Sampling | undefined;
  budget_s?: number | undefined;
  /** Only where somebody asked for it. */
  if_requested?: boolean | undefined;
}

export type CalibrationEvent =
  | { kind: "note"; text: string }
  | { kind: "progress"; progress: SweepProgress };

export interface CalibrateOptions {
  station: Station;
  wish: CalibrationWish;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  lock_wait_s: number;
  signal?: AbortSignal | undefined;
  /** Lets the step that is under way end, and begins no other. */
  give_way?: AbortSignal | undefined;
  onEvent: (event: CalibrationEvent) => void;
  random?: (() => number) | undefined;
  /** What reads this machine's state; the probes' own where left out. */
  createRecorder?: ((options: { server_pid: number | null }) => ReadingsRecorder) | undefined;
}

export interface CalibrationOutcome {
  result: "measured" | "too_noisy" | "incomplete" | "not_requested";
  runner: string;
  model: string;
  verdict: Verdict | null;
  /** Why the search ended. */
  stop: string;
  /** Key of the evidence, and its path below the station; null where there is none. */
  key: string | null;
  evidence_path: string | null;
  commit: CommitReport | null;
  /** Folder of the raw turns. */
  run_dir: string | null;
}
