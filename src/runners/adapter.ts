import type { Clock } from "../core/clock.ts";
import { nobodyThere } from "./fault.ts";
import type { Endpoint } from "./http.ts";
import type {
  Fault,
  LoadedModels,
  LoadResult,
  Residency,
  RunnerSettings,
  RunnerStatus,
  UnloadResult,
} from "./runner.ts";
import { listenerPid } from "./server-pid.ts";

export interface RunnerDeps {
  clock: Clock;
  /** The server's process, where we started it ourselves. */
  server_pid?: number;
}

/** What every adapter holds: where its server is, what time it is, and which process serves. */
export abstract class Adapter {
  readonly settings: RunnerSettings;
  abstract readonly residency: Residency;
  protected readonly clock: Clock;
  protected readonly endpoint: Endpoint;
  readonly #server_pid: number | undefined;

  constructor(settings: RunnerSettings, url: string, deps: RunnerDeps) {
    this.settings = settings;
    this.clock = deps.clock;
    this.endpoint = { url, api_key: settings.api_key };
    this.#server_pid = deps.server_pid;
  }

  async serverPid(): Promise<number | null> {
    return this.#server_pid ?? listenerPid(this.endpoint.url);
  }

  /** Slots as the runner tells them, else as its owner declared them. */
  protected slotFields(told: number | null): Pick<RunnerStatus, "slots" | "slots_source"> {
    if (told !== null) return { slots: told, slots_source: "runner" };
    const declared = this.settings.declared_slots;
    return { slots: declared, slots_source: declared === null ? null : "declared" };
  }

  /** A status that says no more than why there is none. */
  protected noStatus(trouble: Fault): RunnerStatus {
    const loading = trouble.class === "loading";
    return {
      reachable: loading,
      reason: trouble.message,
      loading,
      version: null,
      models: null,
      ...this.slotFields(null),
    };
  }

  protected loadResult(start_ms: number, trouble: Fault | null): LoadResult {
    return {
      outcome: trouble === null ? "ok" : "failed",
      fault: trouble,
      duration_s: (this.clock.monotonic_ms() - start_ms) / 1000,
    };
  }
}

/** What is in memory cannot be told, except that nothing is where nobody is there. */
export function notLoaded(trouble: Fault): LoadedModels {
  const absent = nobodyThere(trouble);
  return { models: null, reason: trouble.message, ...(absent ? { absent } : {}) };
}

/** The answer of runners that hold their model as long as they live. */
export const FIXED_UNLOAD: UnloadResult = {
  outcome: "not_applicable",
  reason: "this runner holds its model as long as it lives",
};
