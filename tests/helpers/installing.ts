import { installService, type InstallOptions } from "../../src/daemon/service/install.ts";
import type { Step } from "../../src/daemon/service/steps.ts";
import type { ServiceWorld } from "./service-world.ts";

/** A watcher that remembers what it was told. */
export function watching(dry_run = false) {
  const seen: Step[] = [];
  return { dry_run, seen, onStep: (step: Step) => void seen.push(step) };
}

export function install(world: ServiceWorld, given: Partial<InstallOptions> = {}) {
  return installService(world.host, {
    wanted: undefined,
    station: world.station,
    run_as: undefined,
    cwd: world.home,
    watcher: watching(),
    ...given,
  });
}

/** Code and words of the error that `work` ends with. */
export async function refusal(work: Promise<unknown>) {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code, exitCode, hint } = error as Error & {
      code?: string;
      exitCode?: number;
      hint?: string;
    };
    return { code, exitCode, message: error.message, hint: hint ?? "" };
  }
  throw new Error("it was not refused");
}
