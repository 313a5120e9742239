/** What a runner's `/metrics` tells of its work; null where its version has no such number. */
export interface RunnerMetrics {
  /** Requests that are being answered, and those that wait for a slot. */
  running: number | null;
  waiting: number | null;
  prompt_tokens_total: number | null;
  output_tokens_total: number | null;
  /** Share of the cache for keys and values that is in use, 0 to 1. */
  cache_usage: number | null;
}

/** Names with their prefix, newest first: they changed over time, and engines differ. */
const NAMES: Readonly<Record<keyof RunnerMetrics, readonly string[]>> = {
  running: ["llamacpp:requests_processing", "vllm:num_requests_running"],
  waiting: ["llamacpp:requests_deferred", "vllm:num_requests_waiting"],
  prompt_tokens_total: ["llamacpp:prompt_tokens_total", "vllm:prompt_tokens_total"],
  output_tokens_total: ["llamacpp:tokens_predicted_total", "vllm:generation_tokens_total"],
  cache_usage: [
    "llamacpp:kv_cache_usage_ratio",
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
  ],
};

/** Each sample of Prometheus' text format by its name; those that differ in labels only are summed. */
export function parsePrometheus(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const found of text.matchAll(/^([A-Za-z_:][\w:]*)(?:\{.*\})? (\S+)/gm)) {
    const [, name = "", amount] = found;
    const value = Number(amount);
    if (!Number.isNaN(value)) values.set(name, (values.get(name) ?? 0) + value);
  }
  return values;
}

/** Parses `/metrics` of llama-server and of vLLM. */
export function parseMetrics(text: string): RunnerMetrics {
  const values = parsePrometheus(text);
  const read = (field: keyof RunnerMetrics): number | null => {
    const name = NAMES[field].find((one) => values.has(one));
    return name === undefined ? null : (values.get(name) ?? null);
  };
  return {
    running: read("running"),
    waiting: read("waiting"),
    prompt_tokens_total: read("prompt_tokens_total"),
    output_tokens_total: read("output_tokens_total"),
    cache_usage: read("cache_usage"),
  };
}
