import type { Clock } from "../../src/core/clock.ts";

interface Sleeper {
  due_ms: number;
  wake: () => void;
}

/**
 * A clock that stands still until a test moves it. The wall clock and the monotonic clock can be
 * moved apart, as they are by a clock step or a sleep of the machine.
 */
export class FakeClock implements Clock {
  #wall_ms: number;
  #monotonic_ms = 0;
  #sleepers: Sleeper[] = [];
  readonly #jumpSleeps: boolean;

  /** With `jumpSleeps` each sleep ends at once and moves the clock by its length. */
  constructor(options: { wall_ms?: number; jumpSleeps?: boolean } = {}) {
    this.#wall_ms = options.wall_ms ?? Date.UTC(2026, 0, 15, 20, 0, 0);
    this.#jumpSleeps = options.jumpSleeps ?? false;
  }

  now_ms(): number {
    return this.#wall_ms;
  }

  monotonic_ms(): number {
    return this.#monotonic_ms;
  }

  async sleep(duration_ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return;
    if (this.#jumpSleeps) {
      this.advance(duration_ms);
      return;
    }
    await new Promise<void>((resolve) => {
      const sleeper = { due_ms: this.#monotonic_ms + duration_ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Moves both clocks and wakes who is due. */
  advance(duration_ms: number): void {
    this.#wall_ms += duration_ms;
    this.#monotonic_ms += duration_ms;
    const due = this.#sleepers.filter((sleeper) => sleeper.due_ms <= this.#monotonic_ms);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.due_ms > this.#monotonic_ms);
    for (const sleeper of due) sleeper.wake();
  }

  /** Sets the wall clock alone, as an administrator or NTP does. */
  stepWall(duration_ms: number): void {
    this.#wall_ms += duration_ms;
  }
}
