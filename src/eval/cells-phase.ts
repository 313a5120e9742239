import { JsonLinesWriter } from "../core/files.ts";
import type { PowerReading } from "../probes/index.ts";
import type { Fault, GenerateResult } from "../runners/index.ts";
import { Breaker, concernsCell } from "./breaker.ts";
import { askCell, responseRow, unaskedResult, type RowBase } from "./cell.ts";
import type { RunContext } from "./context.ts";
import { EtaEstimator, type EtaRange } from "./eta.ts";
import { progressReporter } from "./events.ts";
import { cellKeyText, matrix, shuffled, type Cell } from "./matrix.ts";
import type { CellKey, EvalResponse } from "./records.ts";
import { readResponses } from "./responses.ts";

/** Where a run stands, told before and after each cell. */
export interface EvalProgress {
  phase: "load" | "cells";
  done: number;
  total: number;
  failed: number;
  /** The cell that is being asked; null between cells. */
  current: CellKey | null;
  eta: EtaRange | null;
}

/** How the pass over the matrix ended. */
export interface CellsOutcome {
  /** One row for each cell that has one, prior ones among them, in the matrix's fixed order. */
  rows: EvalResponse[];
  total: number;
  /** Why the breaker opened; null where it did not. */
  breaker: string | null;
  cancelled: boolean;
  /** The fault that holds for the whole run: the model is not served. */
  model_fault: Fault | null;
}

/** True where a cell need not be asked again: it has an answer, or an error that would come again. */
export function isSettled(row: EvalResponse): boolean {
  return row.ok || (row.fault !== null && concernsCell(row.fault));
}

/** Battery where either look says so: the plug may have been pulled in between. */
function powerOver(before: PowerReading, after: PowerReading): PowerReading["source"] {
  if (before.source === "battery" || after.source === "battery") return "battery";
  return before.source === null || after.source === null ? null : "ac";
}

/** The pass over the matrix: one request at a time, each row on the disk before the next request. */
class CellsRun {
  readonly #context: RunContext;
  readonly #base: RowBase;
  readonly #writer: JsonLinesWriter;
  readonly #rows: Map<string, EvalResponse>;
  readonly #breaker: Breaker;
  readonly #eta = new EtaEstimator();
  readonly #report: (progress: EvalProgress) => void;
  #power: PowerReading = { source: null, reason: null };
  /** Until the first answer every request may have to pay for cold caches. */
  #cold = true;

  constructor(
    context: RunContext,
    base: RowBase,
    prior: readonly EvalResponse[],
    report: (progress: EvalProgress) => void,
  ) {
    this.#context = context;
    this.#base = base;
    this.#rows = new Map(prior.map((row) => [cellKeyText(row), row]));
    this.#breaker = new Breaker(context.config.breaker.consecutive_failures);
    this.#report = report;
    for (const row of prior) this.#recordTime(row);
    this.#writer = new JsonLinesWriter(context.paths.responses);
  }

  #recordTime(row: EvalResponse): void {
    if (row.ok && row.e2e_s !== null) this.#eta.record(row.prompt_id, row.e2e_s);
  }

  #isDone(cell: Cell): boolean {
    const row = this.#rows.get(cellKeyText(cell));
    return row !== undefined && isSettled(row);
  }

  #tell(cells: readonly Cell[], at: number, current: Cell | null): void {
    const rows = [...this.#rows.values()];
    const remaining = cells.slice(at);
    this.#report({
      phase: "cells",
      done: this.#context.manifest.cells_total - remaining.length,
      total: this.#context.manifest.cells_total,
      failed: rows.filter((row) => !row.ok && isSettled(row)).length,
      current,
      eta: this.#eta.range(remaining),
    });
  }

  async #record(cell: Cell, result: GenerateResult): Promise<void> {
    const before = this.#power;
    this.#power = await this.#context.probes.readPower();
    const row = await responseRow(this.#context, cell, result, this.#base, {
      is_cold_start: this.#cold,
      power: powerOver(before, this.#power),
    });
    this.#writer.append(row);
    this.#rows.set(cellKeyText(cell), row);
    this.#recordTime(row);
    if (row.ok) this.#cold = false;
    this.#context.events.emit({
      type: "cell_done",
      i: cell.index,
      ...keyOf(cell),
      ok: row.ok,
      ttft_s: row.ttft_s,
      e2e_s: row.e2e_s,
      decode_tps: row.decode_tps,
      completion_tokens: row.completion_tokens,
      content_empty: row.content_empty,
      error: row.error,
      reasoning_chars: row.reasoning_chars,
    });
  }

  /** Asks one cell; false where we were told to stop before it was answered. */
  async #runCell(cell: Cell, model_fault: Fault | null): Promise<boolean> {
    const context = this.#context;
    const { events, clock, signal } = context;
    events.emit({ type: "cell_start", i: cell.index, ...keyOf(cell), category: cell.category });
    const result =
      model_fault === null
        ? await askCell(context, cell, progressReporter(events, clock, keyOf(cell)))
        : unaskedResult(model_fault, clock.now_ms());
    // Whatever the stop made of the request, it is no failure of the model's.
    if (result.fault?.class === "cancelled" || (signal.aborted && !result.ok)) return false;
    await this.#record(cell, result);
    if (model_fault === null) this.#breaker.record(result.fault);
    return true;
  }

  async run(): Promise<CellsOutcome> {
    const { model, pack, config, runner, signal, manifest } = this.#context;
    const all = matrix(model.id, pack);
    const ordered = config.order === "fixed" ? all : shuffled(all, pack.sampling.seed);
    const pending = ordered.filter((cell) => !this.#isDone(cell));
    let cancelled = false;
    let model_fault: Fault | null = null;
    if (pending.length > 0) {
      // A fault that a retry may cure is left to the cells and the breaker.
      const fault = await runner.findFault(model.id);
      model_fault = fault === null || fault.retryable ? null : fault;
      this.#power = await this.#context.probes.readPower();
    }
    for (const [at, cell] of pending.entries()) {
      this.#tell(pending, at, cell);
      cancelled = signal.aborted || !(await this.#runCell(cell, model_fault));
      if (cancelled || this.#breaker.reason !== null) break;
    }
    if (!cancelled && this.#breaker.reason === null) this.#tell([], 0, null);
    const rows = all.flatMap((cell) => this.#rows.get(cellKeyText(cell)) ?? []);
    const { reason: breaker } = this.#breaker;
    if (breaker !== null) {
      const { consecutive_failures } = this.#breaker;
      this.#context.events.emit({ type: "breaker", consecutive_failures, reason: breaker });
    }
    return { rows, total: manifest.cells_total, breaker, cancelled, model_fault };
  }

  close(): void {
    this.#writer.close();
  }
}

function keyOf(cell: Cell): CellKey {
  return {
    model: cell.model,
    variant: cell.variant,
    prompt_id: cell.prompt_id,
    repeat: cell.repeat,
  };
}

/**
 * Asks every cell that is not settled. Throws what the disk throws; every row up to then is whole
 * and on it.
 */
export async function runCells(
  context: RunContext,
  base: RowBase,
  report: (progress: EvalProgress) => void,
): Promise<CellsOutcome> {
  const prior = readResponses(context.bundle_dir);
  const run = new CellsRun(context, base, prior, report);
  try {
    const done = prior.filter(isSettled).length;
    context.events.emit({
      type: "run_start",
      total: context.manifest.cells_total,
      done,
      invocation: context.invocation,
      request_limits: context.config.request_limits,
    });
    return await run.run();
  } finally {
    run.close();
  }
}
