import { errorMessage, EXIT, systemErrorCode, TouchstonedError } from "../core/errors.ts";
import type { RunnerStatus } from "../runners/index.ts";
import { bundleState } from "./bundle.ts";
import type { RowBase } from "./cell.ts";
import { isSettled, runCells, type CellsOutcome, type EvalProgress } from "./cells-phase.ts";
import { beginSampling, endSampling, type RunContext } from "./context.ts";
import type { RunningSampler } from "./eval-probes.ts";
import { countCells, writeBundleFile, writeDerived, type CellCounts } from "./finalise.ts";
import { runLoadPhase } from "./load-phase.ts";
import { readLoad, type LoadRecord } from "./load-record.ts";
import { servedModel } from "./manifest.ts";
import { openRun, type EvalOptions } from "./open-run.ts";
import { writeResult } from "./result-json.ts";
import { writeScorecard } from "./scorecard.ts";

export interface EvalOutcome {
  /**
   * 0: every cell has an answer or an error that would come again; 1: errors remain that a retry may
   * cure, or the model is not served; 69: the breaker opened or the runner is not there.
   */
  exit_code: 0 | 1 | 69;
  cells_total: number;
  cells_ok: number;
  cells_failed: number;
  breaker: string | null;
  /** Why it is not 0, in words; null where it is. */
  error: string | null;
  /** null where no load was recorded. */
  load: LoadRecord | null;
}

function rowBase(context: RunContext, status: RunnerStatus, load: LoadRecord | null): RowBase {
  // A baseline that has the weights in it already would make a large model look small.
  const clean = load !== null && load.weights_delta_mb !== null;
  return {
    quant: context.model.quant || (servedModel(status, context.model.id)?.quantization ?? ""),
    engine_version: status.version ?? "unknown",
    baseline_used_mb: clean ? load.baseline_used_mb : null,
  };
}

const UNREACHABLE = new Set<string | null>(["unreachable", "connect_timeout"]);

/** A load that failed ends the run, but a model that is not served gets its rows, which say so. */
function loadFailure(load: LoadRecord): Pick<EvalOutcome, "exit_code" | "error"> | null {
  if (load.outcome !== "failed") return null;
  const there = !UNREACHABLE.has(load.fault_class);
  return {
    exit_code: there ? EXIT.failed : EXIT.unavailable,
    error: `the model could not be loaded: ${load.reason ?? "no reason"}`,
  };
}

function verdict(
  context: RunContext,
  outcome: CellsOutcome,
  counts: CellCounts,
): Pick<EvalOutcome, "exit_code" | "error"> {
  if (outcome.breaker !== null) {
    return { exit_code: EXIT.unavailable, error: `stopped early: ${outcome.breaker}` };
  }
  if (outcome.cancelled) return { exit_code: EXIT.failed, error: "stopped before its end" };
  const fault = outcome.model_fault;
  if (fault !== null) {
    return {
      exit_code: EXIT.failed,
      error: `"${context.model.id}" cannot be measured, and no retry changes that (${fault.class}: ${fault.message})`,
    };
  }
  if (counts.complete) return { exit_code: EXIT.done, error: null };
  const open = outcome.rows.filter((row) => !isSettled(row));
  if (open.length === 0) {
    const last = outcome.rows.at(-1)?.error ?? "no reason";
    return { exit_code: EXIT.failed, error: `no cell has an answer, the last one ${last}` };
  }
  return {
    exit_code: EXIT.failed,
    error: `${open.length} of ${counts.cells_total} cells failed and may succeed on another try`,
  };
}

async function cellsPhase(
  context: RunContext,
  base: RowBase,
  sampler: RunningSampler | null,
  report: (progress: EvalProgress) => void,
): Promise<Omit<EvalOutcome, "load">> {
  let outcome: CellsOutcome;
  try {
    outcome = await runCells(context, base, report);
  } finally {
    await endSampling(context, sampler);
  }
  const counts = countCells(outcome);
  const { cells_total, cells_ok, cells_failed } = counts;
  const result = verdict(context, outcome, counts);
  if (outcome.breaker === null && !outcome.cancelled) {
    writeDerived(context, outcome);
    writeResult(context.bundle_dir);
    writeScorecard(context.bundle_dir);
    writeBundleFile(context, counts);
    context.events.emit({
      type: "run_done",
      total: cells_total,
      ok: cells_ok,
      failed: cells_failed,
    });
  } else {
    context.events.emit({ type: "run_failed", reason: result.error ?? "unknown" });
  }
  return { ...result, cells_total, cells_ok, cells_failed, breaker: outcome.breaker };
}

async function runPhases(
  options: EvalOptions,
  context: RunContext,
  status: RunnerStatus,
): Promise<EvalOutcome> {
  const report = options.onProgress ?? (() => {});
  const { cells_total } = context.manifest;
  const none = { cells_total, cells_ok: 0, cells_failed: 0, breaker: null };
  let load = options.phase === "cells" ? readLoad(context.bundle_dir) : null;
  let sampler: RunningSampler | null = null;
  if (options.phase === "cells") {
    sampler = await beginSampling(context, context.invocation);
  } else {
    report({ phase: "load", done: 0, total: cells_total, failed: 0, current: null, eta: null });
    const phase = await runLoadPhase(context);
    ({ load, sampler } = phase);
    const failure = loadFailure(phase.load);
    const goesOn = options.phase === "all" && phase.load.fault_class === "model_not_found";
    if (failure !== null && !goesOn) {
      context.events.emit({ type: "run_failed", reason: failure.error ?? "unknown" });
      return { ...none, ...failure, load };
    }
  }
  if (options.phase === "load") {
    await endSampling(context, sampler);
    return { ...none, exit_code: EXIT.done, error: null, load };
  }
  const base = rowBase(context, status, load);
  return { ...(await cellsPhase(context, base, sampler, report)), load };
}

/** The outcome of a run that found everything done. */
function wholeOutcome(bundle_dir: string): EvalOutcome {
  const { cells_total, cells_ok, cells_failed } = bundleState(bundle_dir);
  return {
    exit_code: EXIT.done,
    cells_total: cells_total ?? 0,
    cells_ok: cells_ok ?? 0,
    cells_failed: cells_failed ?? 0,
    breaker: null,
    error: null,
    load: readLoad(bundle_dir),
  };
}

/** What a full disk stops is said as such; anything else that was not foreseen goes on as it is. */
function explained(error: unknown, bundle_dir: string): unknown {
  if (systemErrorCode(error) !== "ENOSPC" && systemErrorCode(error) !== "EDQUOT") return error;
  return new TouchstonedError({
    code: "disk_full",
    exitCode: EXIT.failed,
    message: `${bundle_dir}: the disk is full; what was written before is whole and readable`,
    hint: `Make room, then go on with --resume ${bundle_dir}.`,
    cause: error,
  });
}

/**
 * Runs a pack against one model and keeps every answer in `bundle_dir`. Trouble of the server is an
 * outcome; throws where the bundle cannot be used (exit 64), or the disk is full (`disk_full`).
 */
export async function runEval(options: EvalOptions): Promise<EvalOutcome> {
  try {
    const opened = await openRun(options);
    if (opened === null) return wholeOutcome(options.bundle_dir);
    const { context, status } = opened;
    try {
      return await runPhases(options, context, status);
    } catch (error) {
      try {
        context.events.emit({ type: "run_failed", reason: errorMessage(error) });
      } catch {
        // The log is on the same full disk; the error itself is what is reported.
      }
      throw error;
    } finally {
      context.events.close();
    }
  } catch (error) {
    throw explained(error, options.bundle_dir);
  }
}
