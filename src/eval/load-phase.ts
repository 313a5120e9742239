import { isoTime } from "../core/clock.ts";
import { writeFileAtomic } from "../core/files.ts";
import { prettyJson } from "../core/json.ts";
import type { FaultClass, LoadedModels, LoadResult } from "../runners/index.ts";
import { beginSampling, endSampling, type RunContext } from "./context.ts";
import type { RunningSampler } from "./eval-probes.ts";
import type { LoadRecord } from "./load-record.ts";

/** Outcome of the load phase. */
export interface LoadPhase {
  load: LoadRecord;
  /** Still running, its baseline taken with the model in memory; null where it did not start. */
  sampler: RunningSampler | null;
}

interface Memory {
  baseline_used_mb: number | null;
  steady_used_mb: number | null;
}

type Weights = Pick<LoadRecord, "weights_delta_mb" | "weights_delta_reason">;

function unknown(weights_delta_reason: string): Weights {
  return { weights_delta_mb: null, weights_delta_reason };
}

/** Memory for the weights, or why it cannot be said. Only a load that really happened has one. */
function weights(
  context: RunContext,
  result: LoadResult,
  before: LoadedModels,
  memory: Memory,
): Weights {
  if (result.outcome === "failed") return unknown("the load failed");
  if (context.runner.residency === "fixed" || result.outcome === "not_applicable") {
    return unknown("this runner holds its model as long as it lives: not applicable");
  }
  if (before.models === null) {
    return unknown(
      `the runner does not say what was in memory before: ${before.reason ?? "no reason"}`,
    );
  }
  if (before.models.includes(context.model.id)) return unknown("the model was in memory already");
  const { baseline_used_mb, steady_used_mb } = memory;
  if (baseline_used_mb === null || steady_used_mb === null) {
    return unknown("memory in use could not be read");
  }
  const delta_mb = steady_used_mb - baseline_used_mb;
  if (delta_mb < 0) {
    return unknown(
      `memory in use fell by ${Math.round(-delta_mb)} MB during the load: something else let go of more than the weights took`,
    );
  }
  return { weights_delta_mb: delta_mb, weights_delta_reason: null };
}

function reasonOf(result: LoadResult): string | null {
  if (result.fault !== null) return `${result.fault.class}: ${result.fault.message}`;
  return result.outcome === "not_applicable"
    ? "this runner holds its model as long as it lives"
    : null;
}

/** Faults of a server that is there and busy with itself. */
const STILL_LOADING = new Set<FaultClass | undefined>(["loading", "busy", "total_timeout"]);

/**
 * Loads, with two limits: `load_s` for a server that is loading, `connect_s` for one that is not there
 * at all. A runner of fixed residency only looks whether its model is there, and would go on looking
 * for a dead server as long as for a large model; so it is asked in short turns.
 */
async function loadModel(context: RunContext): Promise<LoadResult> {
  const { runner, clock, signal, model } = context;
  const { load_s, connect_s } = context.config.request_limits;
  // Options that a server reads at load must be there already, or the first request loads again.
  const { extra_body } = model;
  if (runner.residency === "managed") {
    return runner.load(model.id, { limit_s: load_s, signal, extra_body });
  }
  const start_ms = clock.monotonic_ms();
  for (;;) {
    const left_s = load_s - (clock.monotonic_ms() - start_ms) / 1000;
    const limit_s = Math.max(0, Math.min(connect_s, left_s));
    const result = await runner.load(model.id, { limit_s, signal });
    const duration_s = (clock.monotonic_ms() - start_ms) / 1000;
    const over = left_s <= connect_s || signal.aborted;
    if (over || !STILL_LOADING.has(result.fault?.class)) return { ...result, duration_s };
  }
}

/**
 * Baseline, load, steady baseline: in this order and with no request before the first baseline is
 * written, so that the weights are in the difference and not in both. Writes `load.json` last.
 * Where we were told to stop there is no record. The steady baseline is that of a second sampler, which also knows the process that loaded.
 */
export async function runLoadPhase(context: RunContext): Promise<LoadPhase> {
  const { runner, events, clock, model } = context;
  const before = await runner.loaded();
  const first = await beginSampling(context, context.new_id());
  events.emit({ type: "load_start", model: model.id });
  const started = isoTime(clock.now_ms());
  let result: LoadResult;
  try {
    result = await loadModel(context);
  } finally {
    await endSampling(context, first);
  }
  const loaded = result.outcome !== "failed";
  const cancelled = context.signal.aborted && !loaded;
  const sampler = loaded ? await beginSampling(context, context.invocation) : null;
  const memory: Memory = {
    baseline_used_mb: first?.baseline.sys_used_mb ?? null,
    steady_used_mb: sampler?.baseline.sys_used_mb ?? null,
  };
  const load: LoadRecord = {
    schema_version: 1,
    model: model.id,
    outcome: result.outcome,
    reason: reasonOf(result),
    fault_class: result.fault?.class ?? null,
    retryable: result.fault?.retryable ?? null,
    started,
    duration_s: result.duration_s,
    residency: runner.residency,
    ...memory,
    ...weights(context, result, before, memory),
    invocation: context.invocation,
  };
  try {
    events.emit({
      type: "load_done",
      outcome: load.outcome,
      duration_s: load.duration_s,
      weights_delta_mb: load.weights_delta_mb,
      reason: load.reason,
    });
    if (!cancelled) writeFileAtomic(context.paths.load, prettyJson(load));
  } catch (error) {
    await endSampling(context, sampler);
    throw error;
  }
  return { load, sampler };
}
