import type { Clock } from "../core/clock.ts";
import type { CalibrationDevice, DeviceStart, PeriodResult, Sampling, Segment } from "./device.ts";
import { servedOf } from "./sweep-period.ts";
import type { Served } from "./sweep-period.ts";
import type { SweepState } from "./sweep-state.ts";
import { cardsFrom } from "./sweep-deck.ts";

/** Fillers offered for each worker: a long last turn must not outlast them. */
const FILLERS_PER_WORKER = 24;

export interface SweepTools {
  device: CalibrationDevice;
  deck: readonly Segment[];
  clock: Clock;
  random: () => number;
  signal?: AbortSignal | undefined;
}

/** The server in production, which we are attached to, is not there any more. */
export class ServerGone extends Error {}

/** The one server that runs now, if any; and each period that is measured on it. */
export class Session {
  #current: DeviceStart | null = null;
  readonly #tools: SweepTools;

  constructor(tools: SweepTools) {
    this.#tools = tools;
  }

  /**
   * A warm server with so many slots: the one that runs, or another. It may not have loaded; its
   * record says so.
   */
  async ensure(
    state: SweepState,
    slots: number,
    options: { another?: boolean; warm?: boolean; context_per_slot?: number } = {},
  ): Promise<DeviceStart> {
    const { another = false, warm = true } = options;
    if (this.#current?.record.slots_asked === slots && !another) return this.#current;
    await this.close();
    const { device, clock, signal } = this.#tools;
    const before_ms = clock.monotonic_ms();
    const started = await device.start({
      slots,
      context_per_slot: options.context_per_slot ?? state.method.context_per_slot,
      ...(signal === undefined ? {} : { signal }),
    });
    if (started.record.loaded) this.#current = started;
    else if (state.method.residency === "attached") {
      // Not ours to start: that it is not there says nothing about a number of slots.
      throw new ServerGone(started.record.failure ?? "no reason is known");
    }
    if (started.record.loaded && warm) {
      await started.warmUp(slots, signal);
      state.requests += slots;
    }
    state.starts += 1;
    state.start_s += (clock.monotonic_ms() - before_ms) / 1000;
    return started;
  }

  async close(): Promise<void> {
    const current = this.#current;
    this.#current = null;
    await current?.stop();
  }

  /** `workers` on the counted segments, all of them busy from before the first to after the last. */
  async serve(
    state: SweepState,
    start: DeviceStart,
    options: {
      workers: number;
      counted: readonly Segment[];
      lead_in: boolean;
      nonce?: string;
      sampling?: Sampling | undefined;
    },
  ): Promise<Served> {
    const { workers, counted, sampling } = options;
    const { deck, clock, signal } = this.#tools;
    const used = new Set(counted.map((segment) => segment.id));
    const others = deck.filter((segment) => !used.has(segment.id));
    const from = Math.floor(this.#tools.random() * Math.max(1, others.length));
    const wanted = workers > 1 ? workers * (FILLERS_PER_WORKER + 1) : 0;
    const beside = cardsFrom(others, from, wanted);
    // All other workers have a request under way when the first counted one is sent: what is first
    // in an empty queue is answered faster than anything after it, and must not count.
    const lead = options.lead_in ? beside.slice(0, workers - 1) : [];
    const before_ms = clock.monotonic_ms();
    const result: PeriodResult = await start.measure({
      workers,
      segments: [...lead.map((one) => ({ ...one, turns: one.turns.slice(0, 1) })), ...counted],
      fillers: beside.slice(lead.length),
      nonce: options.nonce ?? this.nonce(),
      ...(sampling === undefined ? {} : { sampling }),
      ...(signal === undefined ? {} : { signal }),
    });
    state.requests += result.requests;
    state.measured_s += (clock.monotonic_ms() - before_ms) / 1000;
    if (result.lost !== null) await this.close();
    return servedOf(workers, counted, result);
  }

  nonce(): string {
    const half = (): string =>
      Math.floor(this.#tools.random() * 2 ** 32)
        .toString(16)
        .padStart(8, "0");
    return half() + half();
  }
}
