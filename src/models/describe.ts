import { basename } from "node:path";
import { isoTime } from "../core/clock.ts";
import { hashFiles, type HashOptions } from "./file-hash.ts";
import { readGguf, type GgufFacts } from "./gguf-file.ts";
import { modelId } from "./model-id.ts";
import type { ModelFile } from "./model-file.ts";

/** What Ollama gives a model of which nothing else is said. */
const USUAL_CONTEXT = 4096;

export interface DescribeOptions extends HashOptions {
  /** The model's name at its runner; undefined = the file's name without its ending. */
  name?: string | undefined;
  /** Tokens a slot; undefined = 4096, or all that the model was trained for where that is less. */
  context_length?: number | undefined;
  /** How the disk file names the model's file. */
  source_path: string;
}

function billions(parameters: number): number {
  return Number((parameters / 1e9).toPrecision(6));
}

/** What a model's file is, from its header and its bytes, all of which are read. */
export async function describeModel(
  path: string,
  options: DescribeOptions,
): Promise<{ model: ModelFile; facts: GgufFacts }> {
  const facts = await readGguf(path);
  const model_hash = await hashFiles(facts.files, options);
  const longest = facts.context_length;
  const usual = longest === null ? USUAL_CONTEXT : Math.min(longest, USUAL_CONTEXT);
  const model: ModelFile = {
    schema_version: 1,
    model_id: modelId(model_hash),
    name: options.name ?? basename(path).replace(/\.gguf$/i, ""),
    architecture: facts.architecture,
    parameter_count_b: billions(facts.parameters),
    active_parameter_count_b: billions(facts.active_parameters),
    quantization: facts.quantization,
    model_hash,
    model_source_mtime: isoTime(facts.mtime_ms),
    model_source_size: facts.size_bytes,
    context_length_default: options.context_length ?? usual,
    context_length_min: null,
    context_length_max: longest,
    kv_elements_per_token: facts.kv_elements_per_token,
    sources: [{ source_type: "local_file", path: options.source_path }],
  };
  return { model, facts };
}
