import { existsSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import { writeFileAtomic } from "../../core/files.ts";
import { prettyJson } from "../../core/json.ts";
import { table } from "../../core/markdown.ts";
import {
  describeModel,
  estimateMemory,
  loadModelFile,
  type ModelFile,
} from "../../models/index.ts";
import { loadMachineSettings } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface ModelDescribeOptions {
  file: string;
  out?: string;
  name?: string;
  context?: string;
  json?: boolean;
}

/** Relative to the first of `folders` that holds it, so that no home folder stands in the file. */
function sourcePath(path: string, folders: readonly string[]): string {
  for (const folder of folders) {
    const inside = relative(folder, path);
    if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return inside;
  }
  return path;
}

/** A description may be written again; nothing else is written over. */
function refuseOther(out: string): void {
  if (!existsSync(out)) return;
  try {
    loadModelFile(out);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    throw usageError(`--out: ${out} is there and is no model disk file`, "Give another name.");
  }
}

function contextOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError(`--context: "${text}" is not a number of tokens`);
}

function gigabytes(mb: number): string {
  return mb < 1000 ? `${mb} MB` : `${(mb / 1000).toFixed(1)} GB`;
}

function summary(model: ModelFile, memory: ReturnType<typeof estimateMemory>): string {
  const context = model.context_length_default;
  const cache = memory.kv_cache_mb === null ? "not told" : gigabytes(memory.kv_cache_mb);
  return table(
    [model.name, ""],
    [
      ["architecture", model.architecture],
      ["parameters", `${model.parameter_count_b} billion`],
      ["active for a token", `${model.active_parameter_count_b} billion`],
      ["quantization", model.quantization],
      ["longest context", model.context_length_max],
      ["weights", gigabytes(memory.weights_mb)],
      [`cache for ${context} tokens`, cache],
      ["memory for one slot", gigabytes(memory.total_mb)],
      ["model_id", model.model_id],
    ],
  );
}

export const run: CommandAction<ModelDescribeOptions> = async (options, context) => {
  const { terminal, cwd, env, signal } = context;
  const path = resolve(cwd, options.file);
  const out = options.out === undefined ? undefined : resolve(cwd, options.out);
  if (out !== undefined) refuseOther(out);
  const folders = [out === undefined ? cwd : dirname(out), ...loadMachineSettings(env).model_dirs];
  const { model } = await describeModel(path, {
    name: options.name,
    context_length: contextOf(options.context),
    source_path: sourcePath(path, folders),
    signal,
    onProgress: (bytes) =>
      terminal.status(`hashing ${path}: ${gigabytes(Math.round(bytes / 1e6))}`),
  });
  terminal.status("");
  if (out !== undefined) writeFileAtomic(out, prettyJson(model));
  const served = { context_length: model.context_length_default, slots: 1 };
  const memory = estimateMemory(model, served);
  if (options.json === true)
    terminal.json({ path: out ?? null, model, memory: { ...served, ...memory } });
  else if (out === undefined) terminal.json(model);
  else terminal.out(`${summary(model, memory)}\n\nmodel disk file: ${out}`);
  return EXIT.done;
};
