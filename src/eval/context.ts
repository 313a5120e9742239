import type { Clock } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { UlidSource } from "../core/ids.ts";
import type { ModelSpec } from "../core/model-spec.ts";
import type { Runner } from "../runners/index.ts";
import type { BundlePaths } from "./bundle-paths.ts";
import type { EvalConfig } from "./config.ts";
import type { EvalProbes, RunningSampler } from "./eval-probes.ts";
import type { EventLog } from "./events.ts";
import type { Manifest } from "./manifest.ts";
import type { Pack } from "./pack.ts";

/** What the phases of one run share. */
export interface RunContext {
  bundle_dir: string;
  paths: BundlePaths;
  model: ModelSpec;
  pack: Pack;
  config: EvalConfig;
  runner: Runner;
  probes: EvalProbes;
  manifest: Manifest;
  events: EventLog;
  clock: Clock;
  new_id: UlidSource;
  signal: AbortSignal;
  /** ULID of this run. */
  invocation: string;
}

/**
 * Starts a sampler; it has written its baseline when this resolves. A run without one is worth less
 * but not worthless: null then, and a warning in the log.
 */
export async function beginSampling(
  context: RunContext,
  invocation: string,
): Promise<RunningSampler | null> {
  try {
    return await context.probes.startSampler({
      path: context.paths.resources,
      invocation,
      server_pid: await context.runner.serverPid(),
    });
  } catch (error) {
    context.events.emit({
      type: "warning",
      message: `no sampler, resources stay unknown: ${errorMessage(error)}`,
    });
    return null;
  }
}

/** Stops a sampler and says so where it did not work to its end. */
export async function endSampling(
  context: RunContext,
  sampler: RunningSampler | null,
): Promise<void> {
  const stopped = await sampler?.stop();
  if (stopped === undefined || stopped.ok) return;
  context.events.emit({
    type: "warning",
    message: `the sampler ended early, some resources are unknown: ${stopped.reason ?? "no reason"}`,
  });
}
