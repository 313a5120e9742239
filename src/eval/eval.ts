import { statfsSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import {
  errorMessage,
  EXIT,
  inputError,
  systemErrorCode,
  TouchstonedError,
} from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import type { UlidSource } from "../core/ids.ts";
import type { ModelSpec } from "../core/model-spec.ts";
import type { Runner, RunnerStatus } from "../runners/index.ts";
import { unmarkBundle } from "./bundle.ts";
import { bundlePaths } from "./bundle-paths.ts";
import type { RowBase } from "./cell.ts";
import { runCells, type CellsOutcome, type EvalProgress } from "./cells-phase.ts";
import { defaultEvalConfig, type EvalConfig } from "./config.ts";
import { beginSampling, endSampling, type RunContext } from "./context.ts";
import type { EvalProbes, RunningSampler } from "./eval-probes.ts";
import { EventLog } from "./events.ts";
import { countCells, writeBundleFile, writeDerived, type CellCounts } from "./finalise.ts";
import { runLoadPhase } from "./load-phase.ts";
import { readLoad, type LoadRecord } from "./load-record.ts";
import {
  makeManifest,
  readManifest,
  requireSameManifest,
  servedModel,
  writeManifest,
  type Manifest,
} from "./manifest.ts";
import { matrix } from "./matrix.ts";
import type { LoadedPack } from "./pack-file.ts";
import { realProbes } from "./real-probes.ts";
import { readResponses } from "./responses.ts";

export interface EvalOptions {
  bundle_dir: string;
  model: ModelSpec;
  pack: LoadedPack;
  /** null = the defaults. */
  config: EvalConfig | null;
  runner: Runner;
  /** `load` ends after the steady baseline, `cells` goes on from its `load.json`, `all` does both. */
  phase: "load" | "cells" | "all";
  /** Goes on with what is in `bundle_dir`; without it a bundle that has answers is refused. */
  resume: boolean;
  clock: Clock;
  new_id: UlidSource;
  signal: AbortSignal;
  /** Refuses to start below this; 0 = does not look [500]. */
  min_free_disk_mb?: number;
  /** This machine, unless a test says otherwise. */
  probes?: EvalProbes;
  onProgress?: (progress: EvalProgress) => void;
}

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

const MIN_FREE_DISK_MB = 500;

function requireFreeDisk(dir: string, needed_mb: number): void {
  if (needed_mb === 0) return;
  const { bavail, bsize } = statfsSync(dir);
  const free_mb = (bavail * bsize) / 1e6;
  if (free_mb >= needed_mb) return;
  throw new TouchstonedError({
    code: "disk_full",
    exitCode: EXIT.failed,
    message: `${dir}: only ${Math.floor(free_mb)} MB free, ${needed_mb} MB are asked for`,
    hint: "Make room, or lower limits.min_free_disk_mb in machine.yaml.",
  });
}

/** Makes the manifest, or proves that the one that is there is of the same parts. */
function openBundle(options: EvalOptions, now: Manifest): Manifest {
  const { bundle_dir } = options;
  const answers = readResponses(bundle_dir).length;
  const old = readManifest(bundle_dir);
  if (answers > 0 && !options.resume) {
    throw inputError(
      `${bundle_dir}: there are ${answers} answers already`,
      "Go on with --resume, or take another directory.",
      "bundle_exists",
    );
  }
  if (old === undefined) {
    if (answers > 0) {
      throw inputError(
        `${bundle_dir}: has answers but no manifest.json, so nothing says what gave them`,
        "Start a new bundle.",
        "no_manifest",
      );
    }
    writeManifest(bundle_dir, now, options.pack);
    return now;
  }
  requireSameManifest(bundle_dir, old, now);
  return old;
}

async function openContext(
  options: EvalOptions,
): Promise<{ context: RunContext; status: RunnerStatus }> {
  const { bundle_dir, model, pack, runner, clock } = options;
  const config = options.config ?? defaultEvalConfig();
  const probes = options.probes ?? realProbes(clock, options.new_id);
  ensureDir(bundle_dir);
  requireFreeDisk(bundle_dir, options.min_free_disk_mb ?? MIN_FREE_DISK_MB);
  const status = await runner.status();
  const parts = { model, pack, config, runner, status };
  const now = makeManifest({
    ...parts,
    host: await probes.readHost(),
    cells_total: matrix(model.id, pack.pack).length,
    now_ms: clock.now_ms(),
  });
  const manifest = openBundle(options, now);
  unmarkBundle(bundle_dir);
  const paths = bundlePaths(bundle_dir);
  const context: RunContext = {
    bundle_dir,
    paths,
    model,
    pack: pack.pack,
    config,
    runner,
    probes,
    manifest,
    events: new EventLog(paths.events, clock),
    clock,
    new_id: options.new_id,
    signal: options.signal,
    invocation: options.new_id(),
  };
  return { context, status };
}

function rowBase(context: RunContext, status: RunnerStatus, load: LoadRecord | null): RowBase {
  // A runner that holds its model all its life has the weights in every baseline: none means more.
  const meaningful = load !== null && load.residency !== "fixed";
  return {
    quant: context.model.quant || (servedModel(status, context.model.id)?.quantization ?? ""),
    engine_version: status.version ?? "unknown",
    baseline_used_mb: meaningful ? load.baseline_used_mb : null,
  };
}

const UNREACHABLE = ["unreachable", "connect_timeout"];

/** A load that failed ends the run, but a model that is not served gets its rows, which say so. */
function loadFailure(load: LoadRecord): Pick<EvalOutcome, "exit_code" | "error"> | null {
  if (load.outcome !== "failed") return null;
  const there = !UNREACHABLE.includes(load.fault_class ?? "");
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
  const open = counts.cells_total - outcome.rows.filter((row) => row.ok).length;
  return {
    exit_code: EXIT.failed,
    error: `${open} of ${counts.cells_total} cells failed and may succeed on another try`,
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
    const { context, status } = await openContext(options);
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
