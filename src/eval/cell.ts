import { sha256Hex } from "../core/json.ts";
import type { PowerReading } from "../probes/index.ts";
import type { Fault, GenerateProgress, GenerateResult } from "../runners/index.ts";
import { cellMetrics } from "./cell-metrics.ts";
import { runChecks } from "./checks.ts";
import type { RunContext } from "./context.ts";
import { cellKeyText, messagesOf, outputBudget, type Cell } from "./matrix.ts";
import type { EvalResponse } from "./records.ts";

/** What the rows of one run have in common. */
export interface RowBase {
  quant: string;
  engine_version: string;
  /** Memory in use before the model was loaded, where that is known and means something. */
  baseline_used_mb: number | null;
}

/** How a cell was asked. */
export interface Circumstances {
  is_cold_start: boolean;
  power: PowerReading["source"];
}

/**
 * Repeats with one seed would give one answer again and again where the temperature is above zero,
 * so each repeat has its own; the first one has the pack's.
 */
function seedOf(context: RunContext, cell: Cell): number {
  return context.pack.sampling.seed + cell.repeat;
}

/**
 * What keeps a request from an earlier one's prompt cache: llama-server has an option for it; anywhere
 * else the text begins with eight characters that no other request of any run has.
 */
function coldness(context: RunContext, cell: Cell) {
  if (!context.config.cold_cache) return { prefix: "", body: {} };
  const { kind } = context.runner.settings;
  if (kind === "llama-server" || kind === "embedded") {
    return { prefix: "", body: { cache_prompt: false } };
  }
  const nonce = sha256Hex(`${context.invocation}\n${cellKeyText(cell)}`).slice(0, 8);
  return { prefix: `[${nonce}]\n`, body: {} };
}

/** One request, with no second try: a retry inside would be timed as if the model were slow. */
export async function askCell(
  context: RunContext,
  cell: Cell,
  onProgress: (progress: GenerateProgress) => void,
): Promise<GenerateResult> {
  const { request_limits: limits } = context.config;
  const cold = coldness(context, cell);
  return context.runner.generate({
    model: cell.model,
    messages: messagesOf(cell, cold.prefix),
    temperature: context.pack.sampling.temperature,
    seed: seedOf(context, cell),
    max_tokens: outputBudget(context.model, cell.prompt),
    extra_body: { ...context.model.extra_body, ...cold.body },
    limits: {
      connect_s: limits.connect_s,
      first_token_s: limits.first_token_s,
      stall_s: limits.stall_s,
      total_s: limits.total_s,
    },
    signal: context.signal,
    onProgress,
  });
}

/** The result of a request that was not made because its outcome is known. */
export function unaskedResult(fault: Fault, now_ms: number): GenerateResult {
  return {
    ok: false,
    fault,
    text: "",
    reasoning_text: "",
    tool_calls: [],
    finish_reason: null,
    answered_model: null,
    timing: {
      started_at_ms: now_ms,
      ended_at_ms: now_ms,
      first_byte_s: null,
      first_reasoning_s: null,
      last_reasoning_s: null,
      first_content_s: null,
      e2e_s: 0,
    },
    usage: {
      prompt_tokens: null,
      completion_tokens: null,
      reasoning_tokens: null,
      cached_tokens: null,
    },
    server_timing: { load_s: null, prompt_s: null, decode_s: null, queue_s: null },
  };
}

/** The row of `responses.jsonl`; what the sampler knows is joined later and null until then. */
export async function responseRow(
  context: RunContext,
  cell: Cell,
  result: GenerateResult,
  base: RowBase,
  circumstances: Circumstances,
): Promise<EvalResponse> {
  const content_empty = result.ok && result.text.trim() === "";
  const checks = await runChecks(cell.prompt.checks, result.ok ? result.text : null);
  return {
    pack_id: context.pack.id,
    pack_version: context.pack.version,
    machine: context.manifest.host.chip ?? "",
    model: cell.model,
    quant: base.quant,
    engine: context.runner.settings.kind,
    engine_version: base.engine_version,
    variant: cell.variant,
    category: cell.category,
    prompt_id: cell.prompt_id,
    repeat: cell.repeat,
    response_text: result.text,
    content_empty,
    ...cellMetrics(result),
    is_cold_start: circumstances.is_cold_start,
    power_source: circumstances.power,
    peak_rss_mb: null,
    sys_used_mb: null,
    sys_used_baseline_mb: base.baseline_used_mb,
    sys_used_delta_mb: null,
    swap_delta_mb: null,
    mem_pressure_max: null,
    throttled: null,
    ok: result.ok,
    error: result.fault === null ? null : `${result.fault.class}: ${result.fault.message}`,
    fault: result.fault,
    finish_reason: result.finish_reason,
    seed: seedOf(context, cell),
    t_start: result.timing.started_at_ms / 1000,
    t_end: result.timing.ended_at_ms / 1000,
    reasoning_chars: result.reasoning_text.length,
    // A long chain of thought is kept only where there is nothing else to look at.
    reasoning_text: content_empty ? result.reasoning_text : "",
    checks,
    invocation: context.invocation,
  };
}
