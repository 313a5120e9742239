import { connectRunner } from "./registry.ts";
import type { Runner, RunnerSettings } from "./runner.ts";
import type { StartDeps } from "./guarded.ts";
import { startRunner } from "./start.ts";

export interface OpenedRunner {
  runner: Runner;
  /** True where the server is ours and ends with `close`. */
  started: boolean;
  close(): Promise<void>;
}

/** A server that is there, or one of our own where the settings say how to start it. */
export async function openRunner(settings: RunnerSettings, deps: StartDeps): Promise<OpenedRunner> {
  if (settings.start === null || settings.url !== null) {
    const runner = connectRunner(settings, { clock: deps.clock });
    return { runner, started: false, close: () => Promise.resolve() };
  }
  const started = await startRunner(settings, deps);
  return { runner: started.runner, started: true, close: started.stop };
}
