import { statfsSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { EXIT, inputError, TouchstonedError } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import type { UlidSource } from "../core/ids.ts";
import type { ModelSpec } from "../core/model-spec.ts";
import type { Runner, RunnerStatus } from "../runners/index.ts";
import { bundleState, unmarkBundle } from "./bundle.ts";
import { bundlePaths } from "./bundle-paths.ts";
import type { EvalProgress } from "./cells-phase.ts";
import { defaultEvalConfig, type EvalConfig } from "./config.ts";
import type { RunContext } from "./context.ts";
import type { EvalProbes } from "./eval-probes.ts";
import { EventLog } from "./events.ts";
import {
  makeManifest,
  readManifest,
  requireSameManifest,
  writeManifest,
  type Manifest,
} from "./manifest.ts";
import { matrix } from "./matrix.ts";
import type { LoadedPack } from "./pack-file.ts";
import { realProbes } from "./real-probes.ts";
import { readResponses } from "./responses.ts";

export interface EvalOptions {
  bundle_dir: string;
  model: ModelSpec;
  pack: LoadedPack;
  /** null = the defaults. */
  config: EvalConfig | null;
  runner: Runner;
  /** `load` ends after the steady baseline, `cells` goes on from its `load.json`, `all` does both. */
  phase: "load" | "cells" | "all";
  /** Goes on with what is in `bundle_dir`; without it a bundle that has answers is refused. */
  resume: boolean;
  clock: Clock;
  new_id: UlidSource;
  signal: AbortSignal;
  /** Refuses to start below this; 0 = does not look [500]. */
  min_free_disk_mb?: number;
  /** This machine, unless a test says otherwise. */
  probes?: EvalProbes;
  onProgress?: (progress: EvalProgress) => void;
}

const MIN_FREE_DISK_MB = 500;

function requireFreeDisk(dir: string, needed_mb: number): void {
  if (needed_mb === 0) return;
  const { bavail, bsize } = statfsSync(dir);
  const free_mb = (bavail * bsize) / 1e6;
  if (free_mb >= needed_mb) return;
  throw new TouchstonedError({
    code: "disk_full",
    exitCode: EXIT.failed,
    message: `${dir}: only ${Math.floor(free_mb)} MB free, ${needed_mb} MB are asked for`,
    hint: "Make room, or lower limits.min_free_disk_mb in machine.yaml.",
  });
}

/** Makes the manifest, or proves that the one that is there is of the same parts. */
function openBundle(options: EvalOptions, now: Manifest): Manifest {
  const { bundle_dir } = options;
  const answers = readResponses(bundle_dir).length;
  const old = readManifest(bundle_dir);
  if (answers > 0 && !options.resume) {
    throw inputError(
      `${bundle_dir}: there are ${answers} answers already`,
      "Go on with --resume, or take another directory.",
      "bundle_exists",
    );
  }
  if (old === undefined) {
    if (answers > 0) {
      throw inputError(
        `${bundle_dir}: has answers but no manifest.json, so nothing says what gave them`,
        "Start a new bundle.",
        "no_manifest",
      );
    }
    writeManifest(bundle_dir, now, options.pack);
    return now;
  }
  requireSameManifest(bundle_dir, old, now);
  return old;
}

/**
 * Checks the disk, asks runner and host who they are, makes or proves the manifest. The bundle no
 * longer counts as finished when this resolves. The caller closes `context.events`. null where the
 * bundle is whole already: there is nothing to ask, and its reports and judge stay what they are.
 */
export async function openRun(
  options: EvalOptions,
): Promise<{ context: RunContext; status: RunnerStatus } | null> {
  const { bundle_dir, model, pack, runner, clock } = options;
  const config = options.config ?? defaultEvalConfig();
  const probes = options.probes ?? realProbes(clock, options.new_id);
  ensureDir(bundle_dir);
  requireFreeDisk(bundle_dir, options.min_free_disk_mb ?? MIN_FREE_DISK_MB);
  const status = await runner.status();
  const parts = { model, pack, config, runner, status };
  const now = makeManifest({
    ...parts,
    host: await probes.readHost(),
    cells_total: matrix(model.id, pack.pack).length,
    now_ms: clock.now_ms(),
  });
  const manifest = openBundle(options, now);
  if (options.resume && bundleState(bundle_dir).state === "whole") return null;
  unmarkBundle(bundle_dir);
  const paths = bundlePaths(bundle_dir);
  const context: RunContext = {
    bundle_dir,
    paths,
    model,
    pack: pack.pack,
    config,
    runner,
    probes,
    manifest,
    events: new EventLog(paths.events, clock),
    clock,
    new_id: options.new_id,
    signal: options.signal,
    invocation: options.new_id(),
  };
  return { context, status };
}
