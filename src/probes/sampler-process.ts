import { exitText, startChild, type ChildProcess } from "../core/child.ts";
import { waitAtMost, type Clock } from "../core/clock.ts";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import type { UlidSource } from "../core/ids.ts";
import { parseJsonLenient } from "../core/json.ts";
import { selfCommand } from "../core/program.ts";
import type { ResourceTick } from "./sample.ts";

/** Start of the program, helpers' first words and three baseline looks take under two seconds. */
const READY_LIMIT_S = 20;
const MARK_LIMIT_S = 15;
/** It ends within a second of the end of its input; then it is told louder. */
const STOP_LIMIT_MS = 3000;

export interface StartSamplerOptions {
  /** `resources.jsonl` of the bundle; its folder must be there. */
  path: string;
  /** ULID on every line; made by `new_id` where it is not given. */
  invocation?: string;
  server_pid: number | null;
  clock: Clock;
  new_id: UlidSource;
  ready_limit_s?: number;
  /** Variables for the sampler beside our own. */
  env?: Record<string, string>;
}

export interface SamplerStop {
  /** True where it lived to the end and every line is in the file. */
  ok: boolean;
  reason: string | null;
}

export interface SamplerProcess {
  readonly pid: number;
  readonly invocation: string;
  /** The baseline line with the least memory in use, as it stands in the file. */
  readonly baseline: ResourceTick;
  /** What is wrong at the moment (disk full, process gone), else null. */
  readonly fault: string | null;
  /** Takes a second baseline, of the model at rest. Rejects where the sampler is gone or mute. */
  markSteady(): Promise<ResourceTick>;
  /** Ends it and says whether its record is whole. May be called again. */
  stop(): Promise<SamplerStop>;
}

function samplerError(message: string): TouchstonedError {
  return new TouchstonedError({
    code: "sampler",
    exitCode: EXIT.failed,
    message: `the memory sampler ${message}`,
    hint: "without a baseline no memory figure of this run would mean anything",
  });
}

interface Message {
  ready?: true;
  mark?: "steady";
  baseline?: ResourceTick;
  error?: string | null;
  recovered?: true;
  ended?: true;
  lost?: number;
}

/** Our side of the conversation with one sampler process. */
class SamplerClient {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #waiting: ((message: Message | undefined) => void)[] = [];
  #rest = "";
  #stderr = "";
  #fault: string | null = null;
  #last: Message | undefined;
  #gone: string | undefined;
  #stop: Promise<SamplerStop> | undefined;

  constructor(child: ChildProcess, clock: Clock) {
    this.#child = child;
    this.#clock = clock;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-2000);
    });
    void this.#watch();
  }

  async #watch(): Promise<void> {
    const exit = await this.#child.exited;
    const said = this.#stderr.trim().split("\n", 1)[0] ?? "";
    this.#gone = `ended (${exitText(exit)})${said === "" ? "" : `: ${said}`}`;
    for (const answer of this.#waiting.splice(0)) answer(undefined);
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = parseJsonLenient(line);
      if (typeof message === "object" && message !== null) this.#hear(message);
    }
  }

  #hear(message: Message): void {
    if (message.ended === true) this.#last = message;
    else if (message.recovered === true) this.#fault = null;
    else if (message.baseline !== undefined) this.#waiting.shift()?.(message);
    else if (typeof message.error === "string") this.#fault = message.error;
  }

  get fault(): string | null {
    return this.#gone === undefined ? this.#fault : `the sampler ${this.#gone}`;
  }

  /** The next baseline that the sampler tells. Rejects when it ends first, or after the limit. */
  async baseline(limit_s: number, what: string): Promise<ResourceTick> {
    if (this.#gone !== undefined) throw samplerError(this.#gone);
    const answer = new Promise<Message | undefined>((resolve) => this.#waiting.push(resolve));
    const message = await waitAtMost(answer, limit_s * 1000, this.#clock);
    if (message === "late") {
      const why = this.#fault === null ? "" : `: ${this.#fault}`;
      throw samplerError(`${what} within ${limit_s} s${why}`);
    }
    if (message?.baseline === undefined) throw samplerError(this.#gone ?? "ended");
    return message.baseline;
  }

  async markSteady(): Promise<ResourceTick> {
    this.#child.stdin.write(`${JSON.stringify({ mark: "steady" })}\n`);
    return this.baseline(MARK_LIMIT_S, "gave no steady baseline");
  }

  stop(): Promise<SamplerStop> {
    this.#stop ??= this.#end();
    return this.#stop;
  }

  async #end(): Promise<SamplerStop> {
    if (this.#gone !== undefined) return { ok: false, reason: `the sampler ${this.#gone} early` };
    this.#child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const over = await waitAtMost(this.#child.exited, STOP_LIMIT_MS, this.#clock);
      if (over !== "late") return this.#verdict();
      this.#child.kill(signal);
    }
    await this.#child.exited;
    return { ok: false, reason: "the sampler did not end and was killed" };
  }

  #verdict(): SamplerStop {
    const last = this.#last;
    if (last === undefined) return { ok: false, reason: `the sampler ${this.#gone ?? "ended"}` };
    const lost = last.lost ?? 0;
    if (lost === 0) return { ok: true, reason: null };
    return { ok: false, reason: `${lost} samples could not be written: ${last.error ?? "?"}` };
  }
}

/**
 * Starts the sampler as a process of its own inside our process group, and resolves when its
 * baseline is in the file. Rejects with a `TouchstonedError` (`sampler`) when it ends before that
 * or does not get there within the limit. It ends by itself when this process dies.
 */
export async function startSampler(options: StartSamplerOptions): Promise<SamplerProcess> {
  const invocation = options.invocation ?? options.new_id();
  const [file, ...args] = selfCommand();
  args.push("_sampler", "--out", options.path, "--invocation", invocation);
  if (options.server_pid !== null) args.push("--server-pid", String(options.server_pid));
  const env = options.env === undefined ? {} : { env: options.env };
  const child = startChild({ file, args, ...env });
  const client = new SamplerClient(child, options.clock);
  try {
    const baseline = await client.baseline(
      options.ready_limit_s ?? READY_LIMIT_S,
      "wrote no baseline",
    );
    return {
      pid: child.pid ?? -1,
      invocation,
      baseline,
      get fault() {
        return client.fault;
      },
      markSteady: () => client.markSteady(),
      stop: () => client.stop(),
    };
  } catch (error) {
    child.kill("SIGKILL");
    await child.exited;
    throw error;
  }
}
