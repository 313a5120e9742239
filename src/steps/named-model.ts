import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { inputError, TouchstonedError } from "../core/errors.ts";
import { modelSpecSchema } from "../core/model-spec.ts";
import { estimateMemory, loadModelFile, sourceDrift, type ModelFile } from "../models/index.ts";
import type { LookedModel } from "../queue/index.ts";
import { confine, type Station } from "../station/index.ts";

type Where = Pick<Station, "root" | "machine">;

/**
 * The absolute real path of a file that may lie in the station, or, by an absolute path, in one of
 * machine.yaml's model_dirs. Throws an input error (64) where it leads elsewhere.
 */
export function confineModel({ root, machine }: Where, path: string, what: string): string {
  const folders = [root, ...(isAbsolute(path) ? machine.model_dirs : [])];
  let first: unknown;
  for (const folder of folders) {
    try {
      return confine(folder, path, what);
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
      first ??= error;
    }
  }
  throw first;
}

/** Where a source of a model is: beside its disk file, in the station, or where models may lie. */
function sourceIn(where: Where, beside: string, path: string): string | null {
  const candidates = isAbsolute(path)
    ? [path]
    : [beside, where.root, ...where.machine.model_dirs].map((folder) => join(folder, path));
  for (const candidate of candidates) {
    try {
      const real = confineModel(where, candidate, "model");
      if (existsSync(real)) return real;
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
    }
  }
  return null;
}

/** Memory for a model as a runner of this machine serves it. */
function memoryMb({ machine }: Where, model: ModelFile, runner: string): number {
  const start = machine.runners.find(({ name }) => name === runner)?.start;
  return estimateMemory(model, {
    context_length: start?.context_length ?? model.context_length_default,
    slots: start?.slots ?? 1,
  }).total_mb;
}

/**
 * A model disk file that an entry names. `path` is where it is read (a copy, when a run goes on),
 * `named` what the queue file says. Throws an input error where it is none, or, with `strict_cache`,
 * where the model was changed since it was described.
 */
export function loadNamedModel(
  where: Where,
  path: string,
  named: string,
  { strict_cache }: { strict_cache: boolean },
): { sha256: string; warnings: string[]; model: LookedModel } {
  const { model, sha256 } = loadModelFile(path);
  const beside = dirname(confineModel(where, named, "model disk file"));
  const drift = sourceDrift(model, (source) => sourceIn(where, beside, source));
  if (drift !== null && strict_cache) {
    throw inputError(
      `${named}: not the model that was described: ${drift}`,
      "Describe it again: touchstoned model describe FILE.gguf --out " + named,
      "model_drift",
    );
  }
  return {
    sha256,
    warnings: drift === null ? [] : [`${named}: ${drift}`],
    model: {
      spec: modelSpecSchema.parse({ id: model.name, quant: model.quantization }),
      memoryMb: (runner) => memoryMb(where, model, runner),
    },
  };
}
