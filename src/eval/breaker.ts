import type { Fault } from "../runners/index.ts";

/** Statuses with which a server refuses this very request; any other one would refuse each. */
const REFUSED_REQUEST = new Set<number | null>([400, 413, 422]);

/**
 * True where the fault lies in the one cell and would come again: its prompt does not fit, or the
 * server refused this very request. A wrong key, a login page or another model is the endpoint's
 * trouble: whoever mends it has the cell answered, however often the same request failed before.
 */
export function concernsCell(fault: {
  class: string;
  retryable: boolean;
  http_status: number | null;
}): boolean {
  if (fault.retryable) return false;
  if (fault.class === "http_error") return REFUSED_REQUEST.has(fault.http_status);
  return fault.class === "context_exceeded" || fault.class === "prompt_truncated";
}

/**
 * Opens after so many faults of the endpoint in a row: a dead server must not turn a night's matrix
 * into a list of failures. An answer, and equally an error that lies in the cell, closes the count
 * again: the server is alive.
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
    this.#failures = fault === null || concernsCell(fault) ? 0 : this.#failures + 1;
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
