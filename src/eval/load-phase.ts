import { isoTime } from "../core/clock.ts";
import { writeFileAtomic } from "../core/files.ts";
import { prettyJson } from "../core/json.ts";
import type { LoadedModels, LoadResult } from "../runners/index.ts";
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
  return { weights_delta_mb: steady_used_mb - baseline_used_mb, weights_delta_reason: null };
}

function reasonOf(result: LoadResult): string | null {
  if (result.fault !== null) return `${result.fault.class}: ${result.fault.message}`;
  return result.outcome === "not_applicable"
    ? "this runner holds its model as long as it lives"
    : null;
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
    result = await runner.load(model.id, {
      limit_s: context.config.request_limits.load_s,
      signal: context.signal,
    });
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
