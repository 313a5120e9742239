import type { EntrySummary, StepRecord } from "../queue/index.ts";
import type { StepProgress } from "./event-tail.ts";

/** What a run tells whoever watches it. */
export type RunEvent =
  | { type: "opened"; directory: string; entries: readonly EntrySummary[]; resumed: boolean }
  | { type: "waiting"; reason: string }
  | { type: "warning"; text: string }
  | { type: "step_start"; entry: EntrySummary; step: string }
  | { type: "step_progress"; entry: EntrySummary; step: string; progress: StepProgress }
  | { type: "step_end"; entry: EntrySummary; record: StepRecord }
  | { type: "entry_end"; entry: EntrySummary };

export type Emit = (event: RunEvent) => void;
