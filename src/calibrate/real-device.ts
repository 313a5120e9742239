import { isoTime } from "../core/clock.ts";
import type { StartRecord } from "../verdict/index.ts";
import type { CalibrationDevice, DeviceStart } from "./device.ts";
import { loadFailure, type CalibrationServer, type Launch } from "./launch.ts";
import { RECORDER_LIMIT_MS } from "./period-readings.ts";
import { readBack } from "./read-back.ts";
import { RealStart, type RequestPlan, type Surroundings } from "./real-start.ts";

export interface RealDeviceOptions {
  launch: Launch;
  plan: RequestPlan;
  around: Surroundings;
}

interface Memory {
  used_mb: number | null;
  gpus: StartRecord["gpus_loaded"];
}

/** A start that did not come about: it is recorded, and there is nothing to measure or to stop. */
function failedStart(record: StartRecord): DeviceStart {
  const nothing = (): Promise<never> =>
    Promise.reject(new Error(`nothing runs: ${record.failure ?? "it did not load"}`));
  return { record, warmUp: nothing, measure: nothing, stop: () => Promise.resolve() };
}

/**
 * This machine with a runner. One instance serves one sweep: it remembers how many tokens each prompt
 * had when it was first read, so that one that is cut later is seen.
 */
export class RealDevice implements CalibrationDevice {
  readonly #options: RealDeviceOptions;
  readonly #known_prompts = new Map<string, number>();

  constructor(options: RealDeviceOptions) {
    this.#options = options;
  }

  async start(options: {
    slots: number;
    context_per_slot: number;
    signal?: AbortSignal;
  }): Promise<DeviceStart> {
    const { around, launch, plan } = this.#options;
    const { clock } = around;
    const { slots, context_per_slot, signal } = options;
    const started_at = isoTime(clock.now_ms());
    const rest = await this.#memory(null);
    const begun_ms = clock.monotonic_ms();
    const asked = { slots_asked: slots, memory_at_rest_mb: rest.used_mb, started_at };
    let server: CalibrationServer;
    try {
      server = await launch(options);
    } catch (error) {
      signal?.throwIfAborted();
      const failure = loadFailure(error);
      around.note(`with ${slots} slots the model did not load: ${failure}`);
      return failedStart({ ...asked, ...NOTHING, failure });
    }
    const load_s = (clock.monotonic_ms() - begun_ms) / 1000;
    try {
      const shape = await readBack(server, clock);
      const loaded = await this.#memory(server.pid);
      const record: StartRecord = {
        ...asked,
        loaded: true,
        failure: null,
        slots_read: shape.slots,
        context_read: shape.context,
        load_s,
        memory_loaded_mb: loaded.used_mb,
        gpus_loaded: loaded.gpus,
      };
      return new RealStart(server, record, {
        plan,
        around,
        context_per_slot,
        known_prompts: this.#known_prompts,
      });
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async #memory(server_pid: number | null): Promise<Memory> {
    const recorder = this.#options.around.createRecorder({ server_pid });
    try {
      await recorder.ready(RECORDER_LIMIT_MS);
      recorder.start();
      const { host_used_peak_mb, gpus } = recorder.stop();
      return { used_mb: host_used_peak_mb, gpus };
    } finally {
      recorder.close();
    }
  }
}

const NOTHING = {
  loaded: false,
  slots_read: null,
  context_read: null,
  load_s: null,
  memory_loaded_mb: null,
  gpus_loaded: null,
} as const;
