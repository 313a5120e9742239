import { z } from "zod";
import { readJsonLines } from "../core/files.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { cellKeyText } from "./matrix.ts";
import type { CheckResult, EvalResponse } from "./records.ts";

const text = z.string().catch("");
const amount = z.number().nullable().catch(null);
const flag = z.boolean().nullable().catch(null);

const checkResult = z.object({
  kind: z.string(),
  passed: flag,
  reason: z.string().nullable().catch(null),
});

const fault = z.object({
  class: z.string(),
  message: text,
  retryable: z.boolean(),
  http_status: amount,
});

/**
 * A line of `responses.jsonl` of any age. Only the cell's key and the outcome must be there; what an
 * older writer did not know is null, not zero.
 */
const responseSchema = z.object({
  model: z.string(),
  variant: z.string(),
  prompt_id: z.string(),
  repeat: z.int().catch(0),
  ok: z.boolean(),
  pack_id: text,
  pack_version: z.int().catch(1),
  machine: text,
  quant: text,
  engine: text,
  engine_version: text,
  category: text,
  response_text: text,
  content_empty: z.boolean().catch(false),
  ttft_s: amount,
  decode_tps: amount,
  prefill_tps: amount,
  e2e_s: amount,
  prompt_tokens: amount,
  completion_tokens: amount,
  cached_tokens: amount,
  is_cold_start: z.boolean().catch(false),
  power_source: z.enum(["ac", "battery"]).nullable().catch(null),
  peak_rss_mb: amount,
  sys_used_mb: amount,
  sys_used_baseline_mb: amount,
  sys_used_delta_mb: amount,
  swap_delta_mb: amount,
  mem_pressure_max: z.enum(["normal", "warn", "critical"]).nullable().catch(null),
  throttled: flag,
  error: z.string().nullable().catch(null),
  fault: fault.nullable().catch(null),
  finish_reason: z.string().nullable().catch(null),
  seed: z.int().catch(0),
  t_start: z.number().catch(0),
  t_end: z.number().catch(0),
  reasoning_chars: z.int().catch(0),
  reasoning_text: text,
  reasoning_duration_s: amount,
  reasoning_tps: amount,
  reasoning_completion_tokens: amount,
  checks: z.array(checkResult).catch([] as CheckResult[]),
  invocation: text,
});

/**
 * The answers of a bundle, one for each cell, in the order in which the cells first appear. Where a
 * cell was asked again the later line counts. Lines that are not answers are left out.
 */
export function readResponses(bundle_dir: string): EvalResponse[] {
  const rows = new Map<string, EvalResponse>();
  for (const line of readJsonLines(bundlePaths(bundle_dir).responses)) {
    const row = responseSchema.safeParse(line);
    if (row.success) rows.set(cellKeyText(row.data), row.data as EvalResponse);
  }
  return [...rows.values()];
}
