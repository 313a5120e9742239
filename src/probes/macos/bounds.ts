import type { Clock } from "../../core/clock.ts";
import type { BoundReader, BoundSample, Counted } from "../bound-sample.ts";
import type { GpuMemory } from "../gpu/gpu-memory.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { MacReader } from "./reader.ts";

/** The bounds' readings from the long-lived helpers of `MacReader`. */
export class MacBounds implements BoundReader {
  readonly #reader: MacReader;

  constructor(options: { clock: Clock; env?: Record<string, string> }) {
    this.#reader = new MacReader({ server_pid: null, ...options });
  }

  ready(limit_ms: number): Promise<void> {
    return this.#reader.ready(limit_ms);
  }

  /** Levels are of the moment: nothing from before is in them. */
  begin(): void {}

  read(): BoundSample {
    const { used_mb, pressure, throttled } = this.#reader.read();
    return {
      host_used_mb: used_mb,
      host_total_mb: this.#reader.totalMb(),
      cgroup: known("none"),
      gpus: this.#gpus(),
      swapped_out: this.#swappedOut(),
      stalled: unknown("macOS counts no stalls: its pressure level is what there is"),
      group_stalled: null,
      pressure,
      throttled,
      stolen: null,
    };
  }

  #gpus(): Reading<GpuMemory[]> {
    const unified = this.#reader.unified();
    if (unified.value === null) return unified;
    return unified.value ? known([]) : unknown("the GPUs of an Intel Mac do not tell their memory");
  }

  #swappedOut(): Reading<Counted> {
    const total = this.#reader.swappedOut();
    if (total.value === null) return total;
    return known({ total: total.value, at_ms: this.#reader.counted_at_ms });
  }

  close(): void {
    this.#reader.close();
  }
}
