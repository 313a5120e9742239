import type { Readable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { JsonLinesWriter } from "../core/files.ts";
import { parseJsonLenient } from "../core/json.ts";
import type { HostSampler } from "./host-sampler.ts";
import { failureText } from "./reading.ts";
import type { BaselinePhase, HostSample, ResourceTick } from "./sample.ts";

/** Two samples a second: the memory of a load or of a long prompt does not change faster. */
const TICK_MS = 500;
/** A baseline is the least of a few looks, so that a moment's allocation elsewhere is not in it. */
const BASELINE_TICKS = 3;
const BASELINE_SPACING_MS = 250;
/** How long helpers (nvidia-smi above all) may take to say their first word. */
const HELPERS_LIMIT_MS = 5000;

/** What the sampler says on stdout, one JSON line each. */
export type SamplerMessage =
  | { ready: true; invocation: string; baseline: ResourceTick }
  | { mark: "steady"; baseline: ResourceTick }
  /** A line could not be written; the sampler goes on trying. */
  | { error: string }
  | { recovered: true; lost: number }
  | { ended: true; ticks: number; lost: number; error: string | null };

export interface SamplerLoopOptions {
  /** `resources.jsonl`: appended to, made where it is not there, never cut. */
  path: string;
  /** ULID of this run of the sampler; on every line. */
  invocation: string;
  sampler: HostSampler;
  clock: Clock;
  /** Commands, one JSON line each (`{"mark":"steady"}`). Its end ends the loop. */
  input: Readable;
  say(message: SamplerMessage): void;
  signal: AbortSignal;
  /** How the file is opened; a `JsonLinesWriter` but in tests of a failing disk. */
  open?: (path: string) => Pick<JsonLinesWriter, "append" | "close">;
}

/** Appends ticks; keeps count of those that the disk did not take, and says when that changes. */
class TickFile {
  readonly #writer: Pick<JsonLinesWriter, "append" | "close">;
  readonly #options: SamplerLoopOptions;
  ticks = 0;
  lost = 0;
  error: string | null = null;
  #failing = false;

  constructor(options: SamplerLoopOptions) {
    this.#options = options;
    const { open = (path: string) => new JsonLinesWriter(path) } = options;
    this.#writer = open(options.path);
  }

  append(sample: HostSample, phase: BaselinePhase | null): ResourceTick | undefined {
    const tick: ResourceTick = {
      ...sample,
      baseline: phase !== null,
      ...(phase === null ? {} : { phase }),
      invocation: this.#options.invocation,
    };
    try {
      this.#writer.append(tick);
    } catch (error) {
      this.#fail(`${this.#options.path}: ${failureText(error)}`);
      return undefined;
    }
    this.ticks += 1;
    if (this.#failing) this.#options.say({ recovered: true, lost: this.lost });
    this.#failing = false;
    return tick;
  }

  #fail(error: string): void {
    this.lost += 1;
    if (!this.#failing || error !== this.error) this.#options.say({ error });
    this.#failing = true;
    this.error = error;
  }

  close(): void {
    this.#writer.close();
  }
}

/** Counts the marks that were asked for and not yet served; aborts when the input ends. */
function listen(input: Readable, stop: () => void): { takeMark(): boolean } {
  let rest = "";
  let marks = 0;
  input.setEncoding("utf8");
  input.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const command = parseJsonLenient(line);
      if (typeof command !== "object" || command === null || !("mark" in command)) continue;
      if (command.mark === "steady") marks += 1;
    }
  });
  input.once("end", stop);
  input.once("close", stop);
  input.once("error", stop);
  return {
    takeMark() {
      if (marks === 0) return false;
      marks -= 1;
      return true;
    },
  };
}

function lowest(ticks: readonly ResourceTick[]): ResourceTick | undefined {
  let least: ResourceTick | undefined;
  for (const tick of ticks) {
    const used = tick.sys_used_mb ?? Number.POSITIVE_INFINITY;
    if (least === undefined || used < (least.sys_used_mb ?? Number.POSITIVE_INFINITY)) least = tick;
  }
  return least;
}

/**
 * The life of the sampler process: baseline, "ready", then two samples a second on a monotonic
 * schedule until the input ends or `signal` aborts. Throws only where the file cannot be opened.
 */
export async function runSamplerLoop(options: SamplerLoopOptions): Promise<void> {
  const { sampler, clock, invocation } = options;
  const file = new TickFile(options);
  const stop = new AbortController();
  const end = (): void => stop.abort();
  options.signal.addEventListener("abort", end, { once: true });
  if (options.signal.aborted) end();
  const commands = listen(options.input, end);
  const stopped = stop.signal;

  /** Baseline lines until enough are on disk: nothing may be measured against one that is not. */
  const baseline = async (phase: BaselinePhase): Promise<ResourceTick | undefined> => {
    const ticks: ResourceTick[] = [];
    while (!stopped.aborted) {
      const tick = file.append(sampler.sample(), phase);
      if (tick !== undefined) ticks.push(tick);
      if (ticks.length === BASELINE_TICKS) return lowest(ticks);
      await clock.sleep(BASELINE_SPACING_MS, stopped);
    }
    return undefined;
  };

  try {
    await sampler.ready(HELPERS_LIMIT_MS);
    const first = await baseline("start");
    if (first !== undefined) options.say({ ready: true, invocation, baseline: first });
    let due_ms = clock.monotonic_ms();
    while (!stopped.aborted) {
      // Ticks that were slept through (a suspended machine) are left out, not made up for.
      const late_ms = clock.monotonic_ms() - due_ms;
      due_ms += TICK_MS * (1 + Math.max(0, Math.floor(late_ms / TICK_MS)));
      await clock.sleep(due_ms - clock.monotonic_ms(), stopped);
      if (stopped.aborted) break;
      if (!commands.takeMark()) {
        file.append(sampler.sample(), null);
        continue;
      }
      const steady = await baseline("steady");
      if (steady !== undefined) options.say({ mark: "steady", baseline: steady });
    }
  } finally {
    sampler.close();
    file.close();
    options.say({ ended: true, ticks: file.ticks, lost: file.lost, error: file.error });
  }
}
