import { rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readTextIfThere, syncDir } from "../core/files.ts";
import { parseJsonLenient, sha256Hex } from "../core/json.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { readLoad } from "./load-record.ts";

const bundleSchema = z.object({
  cells_total: z.int(),
  cells_ok: z.int(),
  cells_failed: z.int(),
  complete: z.boolean(),
  files: z.record(z.string(), z.string()),
});

/**
 * How far a bundle is: `absent` (nothing begun), `started` (a manifest, no end), `finished` (its run
 * came to its end, but errors remain that a retry may cure), `whole`, or `damaged` (files differ
 * from what the end recorded). `reason` says why it is not whole.
 */
export interface BundleState {
  state: "absent" | "started" | "finished" | "whole" | "damaged";
  reason: string | null;
  cells_total: number | null;
  cells_ok: number | null;
  cells_failed: number | null;
}

/** The first file that is gone or is not what its hash says; null where all are. */
function changedFile(bundle_dir: string, files: Record<string, string>): string | null {
  for (const [name, hash] of Object.entries(files)) {
    const content = readTextIfThere(join(bundle_dir, name));
    if (content === undefined) return `${name} is gone`;
    if (sha256Hex(content) !== hash) return `${name} is not what was recorded`;
  }
  return null;
}

export function bundleState(bundle_dir: string): BundleState {
  const paths = bundlePaths(bundle_dir);
  const without = (state: BundleState["state"], reason: string): BundleState => ({
    state,
    reason,
    cells_total: null,
    cells_ok: null,
    cells_failed: null,
  });
  const text = readTextIfThere(paths.bundle);
  if (text === undefined) {
    return readTextIfThere(paths.manifest) === undefined
      ? without("absent", "there is no manifest.json")
      : without("started", "there is no bundle.json: the run did not come to its end");
  }
  const parsed = bundleSchema.safeParse(parseJsonLenient(text));
  if (!parsed.success) return without("damaged", "bundle.json is not one of this program's");
  const { files, complete, ...counts } = parsed.data;
  const changed = changedFile(bundle_dir, files);
  if (changed !== null) return { state: "damaged", reason: changed, ...counts };
  if (complete) return { state: "whole", reason: null, ...counts };
  return { state: "finished", reason: "some cells failed and may be asked again", ...counts };
}

/**
 * File times are taken from a clock that lags behind the one we read by up to a tick of the kernel,
 * and some file systems keep whole seconds only.
 */
const TIME_GRAIN_MS = 1000;

function olderThan(path: string, started_ms: number): boolean {
  return statSync(path).mtimeMs < started_ms - TIME_GRAIN_MS;
}

/** What an eval step owes and has not left, whole and newer than its start; null = all there. */
export function evalStepFault(bundle_dir: string, started_ms: number): string | null {
  const { state, reason } = bundleState(bundle_dir);
  if (state !== "whole") return `bundle ${state}: ${reason ?? ""}`;
  return olderThan(bundlePaths(bundle_dir).bundle, started_ms)
    ? "bundle.json is older than the step"
    : null;
}

/** The same for a load step: a load record that does not say "failed". */
export function loadStepFault(bundle_dir: string, started_ms: number): string | null {
  const load = readLoad(bundle_dir);
  if (load === null) return "load.json is missing or not whole";
  if (load.outcome === "failed") return `load failed: ${load.reason ?? "no reason"}`;
  return olderThan(bundlePaths(bundle_dir).load, started_ms)
    ? "load.json is older than the step"
    : null;
}

/** Takes the mark of a finished bundle away before anything in it changes. */
export function unmarkBundle(bundle_dir: string): void {
  const { bundle } = bundlePaths(bundle_dir);
  rmSync(bundle, { force: true });
  syncDir(dirname(bundle));
}
