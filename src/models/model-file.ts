import { readFileSync } from "node:fs";
import { z } from "zod";
import { inputError, systemErrorCode } from "../core/errors.ts";
import { sha256Hex } from "../core/json.ts";
import { parseFile } from "../core/yaml.ts";
import { modelId } from "./model-id.ts";

const count = z.int().nonnegative();

const sourceSchema = z
  .strictObject({
    source_type: z.enum(["local_file", "huggingface", "ollama", "direct_url"]),
    path: z
      .string()
      .min(1)
      .optional()
      .describe("Of a local file: from this file's folder, the station or one of model_dirs"),
    url: z.string().min(1).optional().describe("Where else it can be had"),
    source_metadata: z.record(z.string(), z.json()).optional(),
  })
  .superRefine(({ source_type, path, url }, issue) => {
    if (source_type === "local_file" && path === undefined) {
      issue.addIssue({ code: "custom", message: "a local file needs a path" });
    }
    if (source_type !== "local_file" && url === undefined) {
      issue.addIssue({ code: "custom", message: `${source_type} needs a url` });
    }
  });

/** A model disk file: what a model is, so that a queue file can name it by this file. */
export const modelFileSchema = z
  .strictObject({
    schema_version: z.literal(1),
    model_id: z.uuid({ version: "v5" }).describe("Made from model_hash; the same everywhere"),
    name: z.string().trim().min(1).describe("The model's name at its runner"),
    architecture: z.string().min(1),
    parameter_count_b: z.number().positive().describe("All parameters, in billions"),
    active_parameter_count_b: z
      .number()
      .positive()
      .describe("What one token goes through: speed, not memory"),
    quantization: z.string().min(1),
    model_hash: z.string().regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hex digits"),
    model_source_mtime: z.iso.datetime().nullable().default(null),
    model_source_size: count
      .nullable()
      .default(null)
      .describe("Bytes; of all parts, where it is split. null = its memory is an estimate"),
    context_length_default: count.positive().describe("Tokens a slot, where nothing else is said"),
    context_length_min: count.positive().nullable().default(null),
    context_length_max: count.positive().nullable().default(null),
    kv_elements_per_token: count
      .nullable()
      .default(null)
      .describe("Numbers the cache keeps for each token"),
    sources: z.array(sourceSchema).min(1),
  })
  .describe("Model disk file, written by `touchstoned model describe`");

export type ModelFile = z.output<typeof modelFileSchema>;

export interface LoadedModelFile {
  model: ModelFile;
  /** Of the file's bytes. */
  sha256: string;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = systemErrorCode(error) ?? "unknown error";
    const message = code === "ENOENT" ? "no such model disk file" : `cannot be read (${code})`;
    throw inputError(`${path}: ${message}`, "Write one with `touchstoned model describe`.");
  }
}

/**
 * Reads and checks a model disk file. Throws an input error (exit 64) with everything that is wrong,
 * each with its line; also where its id is not that of its hash.
 */
export function loadModelFile(path: string): LoadedModelFile {
  const text = readText(path);
  if (text.startsWith("GGUF")) {
    throw inputError(
      `${path}: is the model itself, not a description of one`,
      `touchstoned model describe ${path} --out MODEL.json`,
      "bad_model_file",
    );
  }
  const model = parseFile(text, path, modelFileSchema);
  const id = modelId(model.model_hash);
  if (model.model_id !== id) {
    throw inputError(
      `${path}: model_id is not the one of its model_hash (${id})`,
      "Describe the model again; neither is meant to be written by hand.",
      "bad_model_file",
    );
  }
  return { model, sha256: sha256Hex(text) };
}
