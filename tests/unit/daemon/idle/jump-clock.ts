import type { Clock } from "../../../../src/core/clock.ts";

interface Sleeper {
  due_ms: number;
  wake: () => void;
}

/** A clock that jumps to whatever comes next: ten weeks in seconds. */
export class JumpClock implements Clock {
  #wall_ms: number;
  #monotonic_ms = 0;
  /** What a sleep of the machine adds to the time since boot. */
  #slept_ms = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(wall_ms: number) {
    this.#wall_ms = wall_ms;
  }

  now_ms(): number {
    return this.#wall_ms;
  }

  monotonic_ms(): number {
    return this.#monotonic_ms;
  }

  uptime_ms(): number {
    return this.#monotonic_ms + this.#slept_ms;
  }

  async sleep(duration_ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const sleeper = { due_ms: this.#monotonic_ms + duration_ms, wake: resolve };
      this.#sleepers.add(sleeper);
      const cut = (): void => {
        this.#sleepers.delete(sleeper);
        resolve();
      };
      signal?.addEventListener("abort", cut, { once: true });
    });
  }

  /** To the next time at which somebody wants to be woken. */
  jump(): void {
    let due_ms = Infinity;
    for (const sleeper of this.#sleepers) due_ms = Math.min(due_ms, sleeper.due_ms);
    if (due_ms === Infinity) throw new Error("nobody waits for anything: it stands still for ever");
    const passed_ms = Math.max(0, due_ms - this.#monotonic_ms);
    this.#monotonic_ms += passed_ms;
    this.#wall_ms += passed_ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.due_ms > this.#monotonic_ms) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  /** The machine sleeps: the wall clock and the time since boot go on, everything else stands still. */
  suspend(ms: number): void {
    this.#wall_ms += ms;
    this.#slept_ms += ms;
  }

  /** The wall clock alone is set. */
  stepWall(ms: number): void {
    this.#wall_ms += ms;
  }
}
