import type { Fault } from "../runners/index.ts";

/**
 * Opens after so many curable faults in a row: a dead server must not turn a night's matrix into a
 * list of failures. An answer, and equally an error that the server gave for good reasons, closes
 * the count again: the server is alive.
 */
export class Breaker {
  readonly #limit: number;
  #failures = 0;
  #last: Fault | null = null;

  /** `limit` 0 = never opens. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  record(fault: Fault | null): void {
    this.#failures = fault?.retryable === true ? this.#failures + 1 : 0;
    this.#last = fault;
  }

  get consecutive_failures(): number {
    return this.#failures;
  }

  /** Why it is open; null while it is closed. */
  get reason(): string | null {
    if (this.#limit === 0 || this.#failures < this.#limit) return null;
    return `${this.#failures} failures in a row, the last one ${this.#last?.class ?? "unknown"}: ${this.#last?.message ?? ""}`;
  }
}
