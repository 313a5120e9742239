import { rmSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { JsonLinesWriter } from "../core/files.ts";
import type { GenerateProgress } from "../runners/index.ts";
import type { CellKey } from "./records.ts";

/** Which call a `progress` line is about; the cell's fields are null in the holistic phase. */
type CallKey =
  | ({ stage: "verdict" } & CellKey)
  | { stage: "holistic"; model: string; variant: string; prompt_id: null; repeat: null };

/** Lines of `judge_events.jsonl`, less `ts` (epoch seconds), which the log adds. */
export type JudgeEvent =
  | { type: "judge_start"; total: number; done: number; judge: string; hash: string }
  | ({
      type: "verdict";
      i: number;
      category: string;
      score: number | null;
      red_flag: boolean;
      unscored: boolean;
      rationale: string;
    } & CellKey)
  | ({ type: "call_failed"; i: number; fault: string; message: string } & CellKey)
  | ({ type: "progress" } & CallKey & GenerateProgress)
  | { type: "breaker"; consecutive_failures: number; reason: string }
  | { type: "holistic_start"; model: string; variant: string; evidence: number }
  | { type: "holistic_done"; model: string; variant: string; error: string | null }
  | {
      type: "master";
      model: string;
      variant: string;
      pct: number | null;
      safety_passed: boolean | null;
      safety_reason: string;
      recommendation: string | null;
    }
  | { type: "judge_done"; total: number; scored: number; exit_code: number };

/** The judge's event log. Each run starts it anew and begins with what is already decided. */
export class JudgeEventLog {
  readonly #writer: JsonLinesWriter;
  readonly #clock: Clock;

  constructor(path: string, clock: Clock) {
    rmSync(path, { force: true });
    this.#writer = new JsonLinesWriter(path);
    this.#clock = clock;
  }

  emit(event: JudgeEvent): void {
    const { type, ...fields } = event;
    this.#writer.append({ type, ts: this.#clock.now_ms() / 1000, ...fields });
  }

  close(): void {
    this.#writer.close();
  }
}

const PROGRESS_INTERVAL_MS = 30_000;

/**
 * The `onProgress` of one call: a `progress` line at most every 30 s, only where the runner shows
 * life. A judge that is silent must look silent to the watchdog.
 */
export function callProgress(
  log: JudgeEventLog,
  clock: Clock,
  key: CallKey,
): (progress: GenerateProgress) => void {
  let last_ms = clock.monotonic_ms();
  return (progress) => {
    const now_ms = clock.monotonic_ms();
    if (now_ms - last_ms < PROGRESS_INTERVAL_MS) return;
    last_ms = now_ms;
    log.emit({ type: "progress", ...key, ...progress });
  };
}
