import { statSync } from "node:fs";
import { isoTime } from "../core/clock.ts";
import { partsOf } from "./gguf-file.ts";
import type { ModelFile } from "./model-file.ts";

/**
 * Why a model's file is not what its disk file says: gone, of another size, changed since. Null where
 * size and time are the same, or where it has no file on this machine. `resolve` gives the absolute
 * path of a source, or null where it is nowhere that models may lie.
 */
export function sourceDrift(
  model: ModelFile,
  resolve: (path: string) => string | null,
): string | null {
  const paths = model.sources.flatMap(({ source_type, path }) =>
    source_type === "local_file" && path !== undefined ? [path] : [],
  );
  if (paths.length === 0) return null;
  const real = paths.map((path) => resolve(path)).find((found) => found !== null);
  if (real === undefined) return `its file ${paths[0] ?? ""} is not there`;
  const stats = partsOf(real).map((part) => statSync(part, { throwIfNoEntry: false }));
  if (stats.some((stat) => stat === undefined)) return `a part of its file ${real} is gone`;
  const size = stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
  if (model.model_source_size !== null && size !== model.model_source_size) {
    return `its file ${real} has ${size} bytes, not ${model.model_source_size}`;
  }
  const changed = isoTime(Math.max(...stats.map((stat) => Math.floor(stat?.mtimeMs ?? 0))));
  if (model.model_source_mtime === null || changed === model.model_source_mtime) return null;
  return `its file ${real} was changed at ${changed}, not at ${model.model_source_mtime}`;
}
