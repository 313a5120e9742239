import type { Fault } from "../runners/index.ts";
import type { PressureLevel } from "../probes/index.ts";

/** Which cell of the matrix a record belongs to. `cell` is unique within a bundle. */
export interface CellKey {
  model: string;
  variant: string;
  prompt_id: string;
  /** Counted from 0. */
  repeat: number;
}

export interface CheckResult {
  /** `contains`, `regex`, `json_schema`, `max_words` or `equals`. */
  kind: string;
  /** null where it could not be decided (a pattern that ran into its limit); `reason` says why. */
  passed: boolean | null;
  reason: string | null;
}

/** One line of `responses.jsonl`. Latencies in seconds; what is not known is null, never 0 or NaN. */
export interface EvalResponse extends CellKey {
  pack_id: string;
  pack_version: number;
  machine: string;
  quant: string;
  engine: string;
  engine_version: string;
  category: string;
  response_text: string;
  content_empty: boolean;
  ttft_s: number | null;
  decode_tps: number | null;
  prefill_tps: number | null;
  e2e_s: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cached_tokens: number | null;
  is_cold_start: boolean;
  power_source: "ac" | "battery" | null;
  peak_rss_mb: number | null;
  sys_used_mb: number | null;
  sys_used_baseline_mb: number | null;
  sys_used_delta_mb: number | null;
  swap_delta_mb: number | null;
  mem_pressure_max: PressureLevel | null;
  throttled: boolean | null;
  ok: boolean;
  error: string | null;
  fault: Fault | null;
  finish_reason: string | null;
  seed: number;
  /** Wall clock, seconds since the epoch. */
  t_start: number;
  t_end: number;
  reasoning_chars: number;
  reasoning_text: string;
  reasoning_duration_s: number | null;
  reasoning_tps: number | null;
  reasoning_completion_tokens: number | null;
  checks: CheckResult[];
  /** ULID of the run of `eval` that asked; a resumed bundle has several. */
  invocation: string;
}

/** Who judged; part of every verdict, so that two judges are never mixed without a word. */
export interface JudgeIdentity {
  model: string;
  runner: string;
  runner_version: string | null;
  temperature: number;
  /** SHA-256 over the judge's model, settings and prompt texts. */
  hash: string;
}

/** One line of `judgements.jsonl`. */
export interface Verdict extends CellKey {
  category: string;
  /** 1 to 5; null where unscored. */
  score: number | null;
  red_flag: boolean;
  rationale: string;
  unscored: boolean;
  safety_critical: boolean;
  /** The judge replied, but nothing could be read from it: a resumed run asks again. */
  judge_error: boolean;
  /** SHA-256 of the answer that was judged: a cell that is asked again has another one. */
  answer_sha256: string;
  judge: JudgeIdentity;
  /** The judge's answer as it came, cut to 4000 characters; empty where no call was made. */
  raw: string;
  duration_s: number | null;
}

/** One line of `reports.jsonl`: the judge's view of one model under one variant. */
export interface ModelReport {
  model: string;
  variant: string;
  dim_scores: Record<string, number>;
  dim_rationales: Record<string, string>;
  /** Why there are no scores; null where there are. */
  error: string | null;
  judge: JudgeIdentity;
}
