import { bytesPerWeight } from "./quantizations.ts";

/** Beside the weights: buffers for computing, the program, what the driver keeps. */
const OVERHEAD = 1.15;

/** Bytes of one number in the cache, by the names that llama.cpp and Ollama have for its types. */
const KV_BYTES: Readonly<Record<string, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
};

/** What is known of a model's size. */
export interface ModelSize {
  /** Of the file; goes before everything else. */
  model_source_size: number | null;
  /** All parameters, those of all experts among them: every one of them must be in memory. */
  parameter_count_b: number;
  quantization: string;
  kv_elements_per_token: number | null;
}

export interface Served {
  /** Tokens of context for each slot. */
  context_length: number;
  slots: number;
  /** [f16] */
  kv_type?: string;
}

export interface MemoryEstimate {
  weights_mb: number;
  /** null where the model's header does not say enough; `total_mb` is without it then. */
  kv_cache_mb: number | null;
  /** weights * 1.15 + cache; megabytes of 10^6 bytes, rounded up. */
  total_mb: number;
}

/**
 * Memory for one model as it is served. Throws an input error for a quantization that is not known
 * (where no file's size is), and a RangeError for an unknown type of cache.
 */
export function estimateMemory(model: ModelSize, served: Served): MemoryEstimate {
  const weights =
    model.model_source_size ?? model.parameter_count_b * 1e9 * bytesPerWeight(model.quantization);
  const bytes = KV_BYTES[served.kv_type ?? "f16"];
  if (bytes === undefined) throw new RangeError(`unknown type of cache "${served.kv_type ?? ""}"`);
  const { kv_elements_per_token } = model;
  const cache =
    kv_elements_per_token === null
      ? null
      : kv_elements_per_token * bytes * served.context_length * served.slots;
  return {
    weights_mb: Math.ceil(weights / 1e6),
    kv_cache_mb: cache === null ? null : Math.ceil(cache / 1e6),
    total_mb: Math.ceil((weights * OVERHEAD + (cache ?? 0)) / 1e6),
  };
}

/** Whether a machine with so much memory can ever hold the model; unknown memory holds everything. */
export function fits(
  estimate: Pick<MemoryEstimate, "total_mb">,
  machine_mb: number | null,
): boolean {
  return machine_mb === null || estimate.total_mb <= machine_mb;
}
