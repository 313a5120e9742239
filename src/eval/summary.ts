import { cellKeyText } from "./matrix.ts";
import type { EvalResponse } from "./records.ts";
import { knownMax, median, medianInterval, percentile, type Interval } from "./stats.ts";

/** Why a row does not count in the latency figures of its model and variant. */
interface Exclusions {
  failed: number;
  cold: number;
  throttled: number;
  battery: number;
}

/** One model under one variant. Seconds, tokens a second, megabytes; null = not known. */
export interface VariantSummary {
  model: string;
  variant: string;
  quant: string;
  total: number;
  ok: number;
  failed: number;
  /** Answers of which nothing is visible; `reasoning_only` of them thought all the same. */
  content_empty: number;
  reasoning_only: number;
  /** Rows that the latency figures rest on. */
  n: number;
  excluded: Exclusions;
  ttft_p50_s: number | null;
  ttft_p95_s: number | null;
  /** At least 95 %, distribution-free; null below six rows. */
  ttft_interval: Interval | null;
  decode_med_tps: number | null;
  decode_interval: Interval | null;
  prefill_med_tps: number | null;
  e2e_med_s: number | null;
  e2e_interval: Interval | null;
  /** First request of a run, which may pay for loading and for empty caches. */
  cold_ttft_s: number | null;
  answer_tokens_med: number | null;
  /** Prompt and completion tokens of the counted rows over the sum of their times. */
  total_throughput_tps: number | null;
  /** Share of the prompt tokens that came from a cache, 0 to 1. */
  cached_share: number | null;
  sys_used_peak_mb: number | null;
  sys_used_delta_mb: number | null;
  /** true where one row ran on battery; null where no row says. */
  battery: boolean | null;
  throttled: boolean | null;
}

type Reason = keyof Exclusions;

/** Why a row stays out of the latency figures; null where it counts. Unknown is not bad. */
function exclusionReason(row: EvalResponse): Reason | null {
  if (!row.ok) return "failed";
  if (row.is_cold_start) return "cold";
  if (row.throttled === true) return "throttled";
  if (row.power_source === "battery") return "battery";
  return null;
}

function known(
  rows: readonly EvalResponse[],
  pick: (row: EvalResponse) => number | null,
): number[] {
  return rows.map(pick).filter((value) => value !== null);
}

/** true where one is true, false where one is known, else null. */
function anyTrue(values: readonly (boolean | null)[]): boolean | null {
  if (values.includes(true)) return true;
  return values.includes(false) ? false : null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function throughput(rows: readonly EvalResponse[]): number | null {
  const told = rows.filter(
    (row) => row.prompt_tokens !== null && row.completion_tokens !== null && row.e2e_s !== null,
  );
  const seconds = sum(known(told, (row) => row.e2e_s));
  if (seconds <= 0) return null;
  return sum(told.map((row) => (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0))) / seconds;
}

function cachedShare(rows: readonly EvalResponse[]): number | null {
  const told = rows.filter((row) => row.cached_tokens !== null && row.prompt_tokens !== null);
  const prompt = sum(known(told, (row) => row.prompt_tokens));
  return prompt <= 0 ? null : sum(known(told, (row) => row.cached_tokens)) / prompt;
}

function latencies(rows: readonly EvalResponse[]) {
  const ttft = known(rows, (row) => row.ttft_s);
  const decode = known(rows, (row) => row.decode_tps);
  const e2e = known(rows, (row) => row.e2e_s);
  return {
    ttft_p50_s: percentile(ttft, 0.5),
    ttft_p95_s: percentile(ttft, 0.95),
    ttft_interval: medianInterval(ttft),
    decode_med_tps: median(decode),
    decode_interval: medianInterval(decode),
    prefill_med_tps: median(known(rows, (row) => row.prefill_tps)),
    e2e_med_s: median(e2e),
    e2e_interval: medianInterval(e2e),
    total_throughput_tps: throughput(rows),
    cached_share: cachedShare(rows),
  };
}

function summariseGroup(rows: readonly EvalResponse[]): Omit<VariantSummary, "model" | "variant"> {
  const excluded: Exclusions = { failed: 0, cold: 0, throttled: 0, battery: 0 };
  const counted: EvalResponse[] = [];
  for (const row of rows) {
    const reason = exclusionReason(row);
    if (reason === null) counted.push(row);
    else excluded[reason] += 1;
  }
  const ok = rows.filter((row) => row.ok);
  const empty = ok.filter((row) => row.content_empty);
  return {
    quant: rows.find((row) => row.quant !== "")?.quant ?? "",
    total: rows.length,
    ok: ok.length,
    failed: rows.length - ok.length,
    content_empty: empty.length,
    reasoning_only: empty.filter((row) => row.reasoning_chars > 0).length,
    n: counted.length,
    excluded,
    ...latencies(counted),
    cold_ttft_s: rows.find((row) => row.ok && row.is_cold_start)?.ttft_s ?? null,
    answer_tokens_med: median(
      known(ok, (row) =>
        row.completion_tokens === null
          ? null
          : row.completion_tokens - (row.reasoning_completion_tokens ?? 0),
      ),
    ),
    sys_used_peak_mb: knownMax(ok.map((row) => row.sys_used_mb)),
    sys_used_delta_mb: knownMax(ok.map((row) => row.sys_used_delta_mb)),
    battery: anyTrue(
      rows.map((row) => (row.power_source === null ? null : row.power_source === "battery")),
    ),
    throttled: anyTrue(rows.map((row) => row.throttled)),
  };
}

/** One summary for each model and variant, in the order in which they first appear. */
export function summarise(rows: readonly EvalResponse[]): VariantSummary[] {
  const groups = new Map<string, EvalResponse[]>();
  for (const row of rows) {
    const key = cellKeyText({ model: row.model, variant: row.variant, prompt_id: "", repeat: 0 });
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    return [{ model: first.model, variant: first.variant, ...summariseGroup(group) }];
  });
}
