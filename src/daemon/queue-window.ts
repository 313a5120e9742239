import { opensAt, readCron, type CronPattern } from "../core/cron.ts";

/** `queue.window` of a station; loaded only where there is one. */
export class QueueWindow {
  #text = "";
  /** null where the text is no pattern, which the configuration would not have let through. */
  #pattern: CronPattern | null = null;

  /** When jobs may start: at `now_ms`, or later. Null: at any time. */
  opensAt(text: string, now_ms: number): number | null {
    if (text !== this.#text) {
      const reading = readCron(text);
      [this.#text, this.#pattern] = [text, reading.ok ? reading.pattern : null];
    }
    return this.#pattern === null ? null : opensAt(this.#pattern, now_ms);
  }
}
