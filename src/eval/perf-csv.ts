import { stringify } from "csv-stringify/sync";
import type { EvalResponse } from "./records.ts";

/** Columns of `perf.csv` in their order: touchstone's, then ours. */
const COLUMNS = [
  "run_id",
  "machine",
  "model",
  "quant",
  "engine",
  "engine_version",
  "scenario",
  "target_ctx",
  "actual_prompt_tokens",
  "completion_tokens",
  "ttft_s",
  "decode_tps",
  "prefill_tps",
  "e2e_s",
  "peak_rss_mb",
  "sys_used_mb",
  "sys_used_delta_mb",
  "swap_delta_mb",
  "mem_pressure_max",
  "throttled",
  "power_source",
  "seed",
  "warmup",
  "is_cold_start",
  "ok",
  "error",
  "cached_tokens",
] as const;

type Field = string | number | boolean | null;

function fields(row: EvalResponse): Record<(typeof COLUMNS)[number], Field> {
  return {
    run_id: [row.model, row.variant, row.prompt_id, row.repeat].join("|"),
    machine: row.machine,
    model: row.model,
    quant: row.quant,
    engine: row.engine,
    engine_version: row.engine_version,
    scenario: row.prompt_id,
    // An eval prompt is as long as it is; only synthetic scenarios aim at a length.
    target_ctx: 0,
    actual_prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    ttft_s: row.ttft_s,
    decode_tps: row.decode_tps,
    prefill_tps: row.prefill_tps,
    e2e_s: row.e2e_s,
    peak_rss_mb: row.peak_rss_mb,
    sys_used_mb: row.sys_used_mb,
    sys_used_delta_mb: row.sys_used_delta_mb,
    swap_delta_mb: row.swap_delta_mb,
    mem_pressure_max: row.mem_pressure_max,
    throttled: row.throttled,
    power_source: row.power_source,
    seed: row.seed,
    warmup: false,
    is_cold_start: row.is_cold_start,
    ok: row.ok,
    error: row.error,
    cached_tokens: row.cached_tokens,
  };
}

/** The table as text, a row for each answer. What is not known is an empty field. */
export function perfCsv(rows: readonly EvalResponse[]): string {
  return stringify(rows.map(fields), {
    header: true,
    columns: [...COLUMNS],
    // The spelling that existing readers of this table compare with.
    cast: { boolean: (value) => (value ? "True" : "False") },
  });
}
