import { JsonLinesWriter } from "../core/files.ts";
import type { Clock } from "../core/clock.ts";
import type { GenerateProgress } from "../runners/index.ts";
import type { RequestLimits } from "./config.ts";
import type { CellKey } from "./records.ts";

/** Lines of `events.jsonl`, less `ts` (epoch seconds), which the log adds. */
export type EvalEvent =
  | { type: "load_start"; model: string }
  | {
      type: "load_done";
      outcome: "ok" | "failed" | "not_applicable";
      duration_s: number;
      weights_delta_mb: number | null;
      reason: string | null;
    }
  | {
      type: "run_start";
      total: number;
      done: number;
      invocation: string;
      request_limits: RequestLimits;
    }
  | ({ type: "cell_start"; i: number; category: string } & CellKey)
  | ({ type: "progress" } & CellKey & GenerateProgress)
  | ({
      type: "cell_done";
      i: number;
      ok: boolean;
      ttft_s: number | null;
      e2e_s: number | null;
      decode_tps: number | null;
      completion_tokens: number | null;
      content_empty: boolean;
      error: string | null;
      reasoning_chars: number;
    } & CellKey)
  | { type: "warning"; message: string }
  | { type: "breaker"; consecutive_failures: number; reason: string }
  | { type: "run_done"; total: number; ok: number; failed: number }
  | { type: "run_failed"; reason: string };

/** The event log of a bundle. It is appended to: a resumed run goes on in the same file. */
export class EventLog {
  readonly #writer: JsonLinesWriter;
  readonly #clock: Clock;

  constructor(path: string, clock: Clock) {
    this.#writer = new JsonLinesWriter(path);
    this.#clock = clock;
  }

  emit(event: EvalEvent): void {
    const { type, ...fields } = event;
    this.#writer.append({ type, ts: this.#clock.now_ms() / 1000, ...fields });
  }

  close(): void {
    this.#writer.close();
  }
}

const PROGRESS_INTERVAL_MS = 30_000;

/**
 * The `onProgress` of one cell: a `progress` line at most every 30 s, counted from the cell's start.
 * Nothing else writes one, least of all a timer: the line proves that the runner is alive.
 */
export function progressReporter(
  log: EventLog,
  clock: Clock,
  key: CellKey,
): (progress: GenerateProgress) => void {
  let last_ms = clock.monotonic_ms();
  return (progress) => {
    const now_ms = clock.monotonic_ms();
    if (now_ms - last_ms < PROGRESS_INTERVAL_MS) return;
    last_ms = now_ms;
    log.emit({ type: "progress", ...key, ...progress });
  };
}
