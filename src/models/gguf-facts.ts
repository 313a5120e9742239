/** Entries of a GGUF header by their keys; anything may stand there. */
export type Metadata = Readonly<Record<string, unknown>>;

export function textAt(metadata: Metadata, key: string): string | null {
  const value = metadata[key];
  return typeof value === "string" && value !== "" ? value : null;
}

/** A count; null where there is none or it is no sensible one. */
export function numberAt(metadata: Metadata, key: string): number | null {
  const value = Number(metadata[key] ?? NaN);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

interface Tensor {
  name: string;
  shape: readonly bigint[];
}

/** Parameters of the experts that a token does not go through; 0 where there are no experts. */
export function expertShare(
  metadata: Metadata,
  architecture: string,
  tensors: readonly Tensor[],
): number {
  const experts = numberAt(metadata, `${architecture}.expert_count`) ?? 0;
  const used = numberAt(metadata, `${architecture}.expert_used_count`) ?? experts;
  if (experts === 0 || used >= experts) return 0;
  const elements = tensors
    .filter(({ name }) => /_exps\b/.test(name))
    .map(({ shape }) => shape.reduce((product, n) => product * Number(n), 1));
  return elements.reduce((sum, n) => sum + n, 0) * (1 - used / experts);
}

/**
 * Numbers that the cache keeps for one token: for each layer, key and value of each head that has its
 * own. Layers that look at a window only keep less; what is told here is never too little. Null where
 * the header does not say.
 */
export function kvElementsPerToken(metadata: Metadata, architecture: string): number | null {
  const at = (key: string): number | null => numberAt(metadata, `${architecture}.${key}`);
  const layers = at("block_count");
  const heads = at("attention.head_count");
  const width = at("embedding_length");
  const even = heads !== null && heads > 0 && width !== null ? width / heads : null;
  const key = at("attention.key_length") ?? even;
  const value = at("attention.value_length") ?? even;
  if (layers === null || key === null || value === null) return null;
  const perLayer = metadata[`${architecture}.attention.head_count_kv`];
  const kv_heads = Array.isArray(perLayer)
    ? perLayer.reduce<number>((sum, n) => sum + Math.max(0, Number(n) || 0), 0)
    : layers * (at("attention.head_count_kv") ?? heads ?? 0);
  const elements = kv_heads * (key + value);
  return Number.isFinite(elements) ? elements : null;
}
