import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { parseJsonLenient } from "../core/json.ts";

/** Size of a file in bytes, 0 where there is none. The watchdog's sign of life. */
export function fileSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Reads what was appended to a JSON-lines file since the last look, and never more than that. */
export class JsonLinesTail {
  readonly #path: string;
  #offset: number;
  #rest = "";

  /** With `from_end` only what comes later is read. */
  constructor(path: string, from_end = false) {
    this.#path = path;
    this.#offset = from_end ? fileSize(path) : 0;
  }

  read(): unknown[] {
    let fd: number;
    try {
      fd = openSync(this.#path, "r");
    } catch {
      return []; // not there yet
    }
    try {
      const size = fstatSync(fd).size;
      if (size < this.#offset) [this.#offset, this.#rest] = [0, ""]; // cut: begin anew
      const bytes = Buffer.alloc(size - this.#offset);
      const count = readSync(fd, bytes, 0, bytes.length, this.#offset);
      this.#offset += count;
      const lines = (this.#rest + bytes.subarray(0, count).toString("latin1")).split("\n");
      this.#rest = lines.pop() ?? "";
      // A chunk may end inside a character: lines are made of bytes first and of text second.
      return lines.flatMap((line) => {
        const row = parseJsonLenient(Buffer.from(line, "latin1").toString("utf8"));
        return row === undefined ? [] : [row];
      });
    } finally {
      closeSync(fd);
    }
  }
}

/** How far a step has come. `seconds` of cells that ended, for the forecast. */
export interface StepProgress {
  total: number | null;
  done: number;
  failed: number;
  cell_seconds: number[];
}

interface EventFields {
  type?: unknown;
  total?: unknown;
  ok?: unknown;
  ts?: unknown;
  model?: unknown;
  variant?: unknown;
  prompt_id?: unknown;
  repeat?: unknown;
}

/**
 * Folds events of an eval (`cell_start`, `cell_done`) or a judge (`verdict`) into a count. A cell
 * that is done again counts once; cells of earlier invocations count as done but not as time.
 */
export class ProgressFold {
  readonly #done = new Map<string, boolean>();
  #total: number | null = null;
  #since: number | null = null;
  readonly #seconds: number[] = [];

  add(row: unknown): void {
    if (typeof row !== "object" || row === null) return;
    const event: EventFields = row;
    const ts = typeof event.ts === "number" ? event.ts : null;
    if (event.type === "run_start" || event.type === "judge_start") {
      if (typeof event.total === "number") this.#total = event.total;
      this.#since = ts;
      this.#seconds.length = 0;
    } else if (event.type === "cell_start") {
      this.#since = ts;
    } else if (event.type === "cell_done" || event.type === "verdict") {
      const key = JSON.stringify([event.model, event.variant, event.prompt_id, event.repeat]);
      this.#done.set(key, event.ok !== false);
      if (ts !== null && this.#since !== null) this.#seconds.push(Math.max(0, ts - this.#since));
      this.#since = ts;
    }
  }

  progress(): StepProgress {
    const outcomes = [...this.#done.values()];
    return {
      total: this.#total,
      done: outcomes.length,
      failed: outcomes.filter((ok) => !ok).length,
      cell_seconds: [...this.#seconds],
    };
  }
}

/** Seconds, low and high; null where too little is known for a range. */
export type Forecast = { low_s: number; high_s: number } | null;

/**
 * What is left of a step: the mean of the cells so far, with a range of two standard errors of the
 * sum and of the mean. Cells differ in length, so fewer than three say nothing.
 */
export function forecast(progress: StepProgress): Forecast {
  const { total, done, cell_seconds: times } = progress;
  const left = total === null ? 0 : total - done;
  if (left <= 0 || times.length < 3) return null;
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  const variance =
    times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / Math.max(1, times.length - 1);
  const spread = 2 * Math.sqrt(variance * (left + left ** 2 / times.length));
  return { low_s: Math.max(0, left * mean - spread), high_s: left * mean + spread };
}
