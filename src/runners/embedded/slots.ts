/** A fixed number of slots; who finds none free waits in line. */
export class SlotPool<Slot> {
  readonly #all: readonly Slot[];
  readonly #free: Slot[];
  readonly #waiting: ((slot: Slot) => void)[] = [];

  constructor(slots: readonly Slot[]) {
    this.#all = slots;
    this.#free = [...slots].reverse();
  }

  /** For each slot, in order, whether somebody has it. */
  busy(): boolean[] {
    return this.#all.map((slot) => !this.#free.includes(slot));
  }

  get idle(): boolean {
    return this.#free.length === this.#all.length && this.#waiting.length === 0;
  }

  /** Runs `work` with a slot. Whoever is cancelled while waiting leaves the line. */
  async use<T>(signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T> {
    const slot = await this.#take(signal);
    try {
      return await work(slot);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(slot);
      else next(slot);
    }
  }

  #take(signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(signal.reason);
      };
      const take = (slot: Slot): void => {
        signal.removeEventListener("abort", leave);
        resolve(slot);
      };
      this.#waiting.push(take);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
