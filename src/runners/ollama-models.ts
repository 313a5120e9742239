import { fieldsOf, listOf, numberOf, textOf } from "./fields.ts";

/** A model that Ollama holds in memory. */
export interface OllamaLoaded {
  name: string;
  digest: string | null;
  size_bytes: number | null;
  /** Share of it in the memory of a GPU: below 1 the processor serves the rest, slowly. */
  gpu_share: number | null;
  /** Of one request, not times the slots. */
  context_length: number | null;
}

/** What `/api/ps` answered; undefined where it has no list: not the same as "nothing is loaded". */
export function ollamaLoaded(value: unknown): OllamaLoaded[] | undefined {
  const { models } = fieldsOf(value);
  if (!Array.isArray(models)) return undefined;
  return listOf(models).flatMap((entry) => {
    const fields = fieldsOf(entry);
    const name = textOf(fields["name"]) ?? textOf(fields["model"]);
    if (name === null) return [];
    const size_bytes = numberOf(fields["size"]);
    const vram = numberOf(fields["size_vram"]);
    return [
      {
        name,
        digest: textOf(fields["digest"]),
        size_bytes,
        gpu_share:
          vram === null || size_bytes === null || size_bytes <= 0 ? null : vram / size_bytes,
        context_length: numberOf(fields["context_length"]),
      },
    ];
  });
}

export interface OllamaModelFacts {
  architecture: string | null;
  /** What the model was trained for; what a request gets is less, mostly. */
  context_length: number | null;
  quantization: string | null;
}

/** What `/api/show` answered. The context stands under a name that begins with the architecture. */
export function ollamaModelFacts(value: unknown): OllamaModelFacts {
  const fields = fieldsOf(value);
  const info = fieldsOf(fields["model_info"]);
  const architecture = textOf(info["general.architecture"]);
  return {
    architecture,
    context_length: architecture === null ? null : numberOf(info[`${architecture}.context_length`]),
    quantization: textOf(fieldsOf(fields["details"])["quantization_level"]),
  };
}
