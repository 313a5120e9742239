import { startChild, exitText, type ChildProcess } from "../core/child.ts";
import type { Clock } from "../core/clock.ts";

/** A helper that ended is started again after this long: a driver may be reloaded under us. */
const RESTART_MS = 10_000;
/** Of what the helper said last, as much goes into a reason. */
const REASON_CHARACTERS = 160;

export interface LineStreamOptions {
  /** How reasons call it. */
  name: string;
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
  clock: Clock;
  onLine(line: string): void;
}

/**
 * One long-lived helper that prints readings line by line. It is ours alone: it ends when we close
 * it and, should we be killed, at its next write into the broken pipe.
 */
export class LineStream {
  readonly #options: LineStreamOptions;
  #child: ChildProcess | undefined;
  #rest = "";
  #said = "";
  #spoke_ms: number | undefined;
  #end: { reason: string; at_ms: number; again: boolean } | undefined;
  #closed = false;
  readonly #first = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();

  constructor(options: LineStreamOptions) {
    this.#options = options;
    this.#start();
  }

  /** Resolves at the first line, or when the helper has ended without one. */
  get spoke(): Promise<void> {
    return this.#first.promise;
  }

  /** Resolves when the helper ends for the first time. */
  get ended(): Promise<void> {
    return this.#over.promise;
  }

  /** Why nothing newer than `max_age_ms` is there; null where there is. Also restarts a dead helper. */
  fault(max_age_ms: number): string | null {
    const now_ms = this.#options.clock.monotonic_ms();
    const ended = this.#end;
    if (ended !== undefined) {
      if (ended.again && now_ms - ended.at_ms >= RESTART_MS && !this.#closed) this.#start();
      return ended.reason;
    }
    if (this.#spoke_ms === undefined) return `${this.#options.name} has printed nothing yet`;
    const age_ms = now_ms - this.#spoke_ms;
    if (age_ms <= max_age_ms) return null;
    return `${this.#options.name} has been silent for ${Math.round(age_ms / 1000)} s`;
  }

  #start(): void {
    const { file, args, env } = this.#options;
    this.#end = undefined;
    this.#spoke_ms = undefined;
    this.#rest = "";
    this.#said = "";
    const child = startChild({ file, args, ...(env === undefined ? {} : { env }) });
    this.#child = child;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = text.trim().slice(-REASON_CHARACTERS);
    });
    void this.#watch(child);
  }

  async #watch(child: ChildProcess): Promise<void> {
    const exit = await child.exited;
    const said = this.#said === "" ? "" : `: ${this.#said.split("\n", 1)[0] ?? ""}`;
    const reason =
      exit.spawn_error === null
        ? `${this.#options.name} ended (${exitText(exit)})${said}`
        : `${this.#options.name} could not be started`;
    const at_ms = this.#options.clock.monotonic_ms();
    this.#end = { reason, at_ms, again: exit.spawn_error === null };
    this.#first.resolve();
    this.#over.resolve();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#spoke_ms = this.#options.clock.monotonic_ms();
      // Several of these tools print their errors on stdout.
      if (line.trim() !== "") this.#said = line.trim().slice(0, REASON_CHARACTERS);
      this.#options.onLine(line);
    }
    if (lines.length > 0) this.#first.resolve();
  }

  /** Also closes the pipe: a helper that runs as root cannot be signalled by us. */
  close(): void {
    this.#closed = true;
    this.#child?.stdout.destroy();
    this.#child?.stdin.destroy();
    this.#child?.kill("SIGTERM");
  }
}
