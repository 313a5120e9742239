import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../core/clock.ts";
import type { ClientReadings } from "../verdict/index.ts";

/** Node's histogram counts the pause between its own timer's looks as well. */
const RESOLUTION_MS = 10;

/** How many requests are in flight, as a mean over time and not over looks. */
export class InFlight {
  readonly #clock: Clock;
  #count = 0;
  #since_ms: number;
  #area = 0;
  #started_ms: number;
  #changed_ms: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since_ms = clock.monotonic_ms();
    this.#started_ms = this.#since_ms;
    this.#changed_ms = this.#since_ms;
  }

  get count(): number {
    return this.#count;
  }

  #settle(): number {
    const now_ms = this.#clock.monotonic_ms();
    this.#area += this.#count * (now_ms - this.#since_ms);
    this.#since_ms = now_ms;
    return now_ms;
  }

  /** Milliseconds since a request last began or ended. */
  get settled_ms(): number {
    return this.#clock.monotonic_ms() - this.#changed_ms;
  }

  /** Counting starts here: what was before is a ramp. */
  begin(): void {
    this.#started_ms = this.#settle();
    this.#area = 0;
  }

  change(by: 1 | -1): void {
    this.#changed_ms = this.#settle();
    this.#count += by;
  }

  /** Since `begin`; null where no time has passed. */
  mean(): number | null {
    const now_ms = this.#settle();
    return now_ms > this.#started_ms ? this.#area / (now_ms - this.#started_ms) : null;
  }
}

/** Measures ourselves: a client that is too slow measures itself instead of the server. */
export function startClientMeter(clock: Clock): {
  stop: (in_flight: number | null, workers: number) => ClientReadings;
} {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const cpu = process.cpuUsage();
  const started_ms = clock.monotonic_ms();
  return {
    stop(in_flight, workers) {
      delay.disable();
      const { user, system } = process.cpuUsage(cpu);
      const elapsed_ms = clock.monotonic_ms() - started_ms;
      const p99_ms = delay.percentile(99) / 1e6 - RESOLUTION_MS;
      return {
        in_flight_share: in_flight === null ? null : in_flight / workers,
        event_loop_delay_p99_ms: delay.count === 0 ? null : Math.max(0, p99_ms),
        cpu_share: elapsed_ms > 0 ? (user + system) / 1000 / elapsed_ms : null,
      };
    },
  };
}
