import type { Clock } from "../core/clock.ts";
import { forecast, type RunEvent, type StepProgress } from "../steps/index.ts";
import { bar, duration, type Terminal } from "./render.ts";

/** Without a terminal: a line of progress at most so often, and only when there is some. */
const PLAIN_INTERVAL_MS = 30_000;

function forecastText(progress: StepProgress): string {
  const left = forecast(progress);
  if (left === null) return "";
  const [low, high] = [duration(left.low_s), duration(left.high_s)];
  return low === high ? `, ${low} left` : `, ${low} to ${high} left`;
}

function cellsText(progress: StepProgress): string {
  const total = progress.total === null ? "?" : String(progress.total);
  const failed = progress.failed === 0 ? "" : `, ${progress.failed} failed`;
  return `${progress.done}/${total} cells${failed}${forecastText(progress)}`;
}

/**
 * Shows a run: on a terminal one line that is redrawn, elsewhere plain lines that a log can keep.
 * Beginnings and ends of steps are lines in both.
 */
export class QueueDisplay {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  #total = 0;
  /** Seconds that whole entries took, for the forecast of the whole. */
  readonly #entry_seconds: number[] = [];
  #entry_started_ms = 0;
  #current: number | null = null;
  #plain_ms: number;
  #plain_text = "";
  #ended = 0;

  constructor(terminal: Terminal, clock: Clock) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#plain_ms = clock.monotonic_ms();
  }

  #name({ index, model_id }: { index: number; model_id: string }): string {
    return `${index + 1}/${this.#total} ${model_id}`;
  }

  /** Range of what is left of all entries: from the shortest to the longest one so far. */
  #wholeText(): string {
    const left = this.#total - this.#ended;
    if (this.#entry_seconds.length === 0 || left <= 1) return "";
    const low = Math.min(...this.#entry_seconds) * left;
    const high = Math.max(...this.#entry_seconds) * left;
    return `; all: ${duration(low)} to ${duration(high)} left`;
  }

  #progress(event: Extract<RunEvent, { type: "step_progress" }>): void {
    const { entry, step, progress } = event;
    const text = `${this.#name(entry)} ${step} ${cellsText(progress)}`;
    if (this.#terminal.interactive) {
      const share = progress.total === null ? 0 : progress.done / Math.max(1, progress.total);
      this.#terminal.status(`${bar(share)}  ${text}${this.#wholeText()}`);
      return;
    }
    const now_ms = this.#clock.monotonic_ms();
    const said = `${progress.done} ${progress.failed}`;
    if (now_ms - this.#plain_ms < PLAIN_INTERVAL_MS || said === this.#plain_text) return;
    [this.#plain_ms, this.#plain_text] = [now_ms, said];
    this.#terminal.err(text);
  }

  #start(event: Extract<RunEvent, { type: "step_start" }>): void {
    const now_ms = this.#clock.monotonic_ms();
    if (this.#current !== event.entry.index) {
      [this.#current, this.#entry_started_ms] = [event.entry.index, now_ms];
    }
    [this.#plain_ms, this.#plain_text] = [now_ms, ""];
    const text = `${this.#name(event.entry)}: ${event.step}`;
    if (this.#terminal.interactive) this.#terminal.status(`${bar(0)}  ${text}`);
    else this.#terminal.err(text);
  }

  show(event: RunEvent): void {
    const terminal = this.#terminal;
    switch (event.type) {
      case "opened":
        this.#total = event.entries.length;
        this.#ended = event.entries.filter((entry) => entry.status === "ok").length;
        terminal.err(`${event.resumed ? "going on in" : "run in"} ${event.directory}`);
        break;
      case "waiting":
        terminal.err(event.reason);
        break;
      case "warning":
        terminal.err(`${terminal.style("yellow", "warning:")} ${event.text}`);
        break;
      case "step_start":
        this.#start(event);
        break;
      case "step_progress":
        this.#progress(event);
        break;
      case "step_end": {
        const { kind, status, seconds, error } = event.record;
        const good = status === "ok" || status === "not_applicable";
        const what = terminal.style(good ? "green" : "red", status);
        const why = error === null ? "" : `: ${error}`;
        terminal.err(
          `${this.#name(event.entry)}: ${kind} ${what} after ${duration(seconds)}${why}`,
        );
        break;
      }
      case "entry_end": {
        this.#ended += 1;
        const took_ms = this.#clock.monotonic_ms() - this.#entry_started_ms;
        if (event.entry.index === this.#current) this.#entry_seconds.push(took_ms / 1000);
        const good = event.entry.status === "ok";
        const status = terminal.style(good ? "green" : "red", event.entry.status);
        const why = event.entry.error === null ? "" : `: ${event.entry.error}`;
        terminal.err(`${this.#name(event.entry)}: ${status}${why}`);
        break;
      }
    }
  }
}
