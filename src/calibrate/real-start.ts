import type { Clock } from "../core/clock.ts";
import { exitText } from "../core/child.ts";
import type { JsonValue } from "../core/json.ts";
import type { TreeExit } from "../core/process.ts";
import type { ChatMessage, GenerateLimits, GenerateResult } from "../runners/index.ts";
import type { StartRecord } from "../verdict/index.ts";
import { InFlight, startClientMeter } from "./client-meter.ts";
import { coldMessages, type Cold } from "./cold.ts";
import type { DeviceStart, PeriodRequest, PeriodResult, Sampling, Turn } from "./device.ts";
import type { CalibrationServer } from "./launch.ts";
import { logCounts } from "./log-facts.ts";
import { turnOutcome, warmPrompts } from "./outcome.ts";
import {
  periodReadings,
  RECORDER_LIMIT_MS,
  type PeriodFacts,
  type ReadingsRecorder,
} from "./period-readings.ts";
import { busySlots } from "./read-back.ts";
import { replay, type ReplayResult } from "./replay.ts";
import type { TurnLog } from "./turn-log.ts";
import { Watch, type Neighbour, type Watched } from "./watch.ts";

/** What the requests of all starts have in common; one identical set of options in every one. */
export interface RequestPlan {
  model: string;
  /** Messages and tools of a turn of the corpus. */
  turn: (turn_id: string) => {
    messages: readonly ChatMessage[];
    tools?: readonly JsonValue[] | undefined;
  };
  temperature: number;
  seed: number;
  max_tokens: number;
  cold: Cold;
  extra_body: (context_per_slot: number) => Readonly<Record<string, JsonValue>>;
  limits: GenerateLimits;
}

export interface Surroundings {
  clock: Clock;
  createRecorder: (options: { server_pid: number | null }) => ReadingsRecorder;
  /** Runners that must hold no model while we measure. */
  neighbours: readonly Neighbour[];
  isOurs: (model: string) => boolean;
  turn_log: TurnLog;
  /** For a person: never part of evidence. */
  note: (text: string) => void;
  watch?: { interval_ms?: number; settled_ms?: number } | undefined;
}

const WARM_UP_TOKENS = 8;
/** How long a server may work on what we cut off before another client is suspected. */
const IDLE_LIMIT_MS = 120_000;
const IDLE_LOOK_MS = 100;
/** A server that dies under a request is known to be dead a moment after the connection breaks. */
const DEATH_LIMIT_MS = 2000;

function unknown(reason: string): Watched {
  return { alone: null, reason, busy_slots: null };
}

/** One running server, measured period by period. */
export class RealStart implements DeviceStart {
  readonly #server: CalibrationServer;
  readonly #plan: RequestPlan;
  readonly #around: Surroundings;
  readonly #context: number;
  readonly #known_prompts: Map<string, number>;
  readonly #recorder: ReadingsRecorder;
  /** Nonces that were used: where one comes again, equal prompts are wanted. */
  readonly #nonces = new Set<string>();
  readonly #gone = new AbortController();
  readonly #busy: (() => Promise<number | null>) | null;
  #record: StartRecord;
  #lost: string | null = null;

  constructor(
    server: CalibrationServer,
    record: StartRecord,
    options: {
      plan: RequestPlan;
      around: Surroundings;
      context_per_slot: number;
      known_prompts: Map<string, number>;
    },
  ) {
    this.#server = server;
    this.#record = record;
    this.#plan = options.plan;
    this.#around = options.around;
    this.#context = options.context_per_slot;
    this.#known_prompts = options.known_prompts;
    this.#recorder = options.around.createRecorder({ server_pid: server.pid });
    this.#busy = busySlots(server, options.around.clock);
    if (server.exited !== null) void this.#mourn(server.exited);
  }

  async #mourn(exited: Promise<TreeExit>): Promise<void> {
    this.#lost ??= `the server ended: ${exitText(await exited)}`;
    this.#gone.abort();
  }

  get record(): StartRecord {
    return this.#record;
  }

  #signal(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#gone.signal : AbortSignal.any([signal, this.#gone.signal]);
  }

  #ask(
    turn: Turn,
    key: { nonce: string; round: number },
    signal: AbortSignal,
    sampling: Sampling | undefined,
  ): Promise<GenerateResult> {
    const { messages, tools } = this.#plan.turn(turn.id);
    const cold = coldMessages(messages, this.#plan.cold, { ...key, turn_id: turn.id });
    return this.#generate(cold, this.#plan.max_tokens, tools, signal, sampling);
  }

  #generate(
    messages: readonly ChatMessage[],
    max_tokens: number,
    tools: readonly JsonValue[] | undefined,
    signal: AbortSignal,
    sampling?: Sampling,
  ): Promise<GenerateResult> {
    const { model, temperature, seed, limits, extra_body } = this.#plan;
    return this.#server.runner.generate({
      model,
      messages,
      temperature: sampling === undefined ? temperature : sampling.temperature,
      seed: sampling === undefined ? seed : null,
      max_tokens,
      extra_body: {
        ...extra_body(this.#context),
        ...(tools === undefined || tools.length === 0 ? {} : { tools: [...tools] }),
      },
      limits,
      signal,
    });
  }

  /** Short requests with as many workers; what goes wrong with them the first period will say. */
  async warmUp(workers: number, signal?: AbortSignal): Promise<void> {
    await this.#recorder.ready(RECORDER_LIMIT_MS);
    await this.#short(workers, WARM_UP_TOKENS, this.#signal(signal));
    this.#server.log?.more();
  }

  async #short(requests: number, max_tokens: number, signal: AbortSignal): Promise<void> {
    const one = (at: number): Promise<GenerateResult> => {
      const content = `Request ${at + 1}: say one word.`;
      return this.#generate([{ role: "user", content }], max_tokens, undefined, signal);
    };
    await Promise.all(Array.from({ length: requests }, (_, at) => one(at)));
  }

  /**
   * Waits until the server works on nothing, as it still may on what the last period cut off. Gives
   * the number of requests that this took, and what kept it at work to the end.
   */
  async #idle(signal: AbortSignal): Promise<{ requests: number; reason: string | null }> {
    const { clock } = this.#around;
    const slots = this.#record.slots_read ?? this.#record.slots_asked;
    if (this.#busy === null) {
      await this.#short(slots, 1, signal);
      return { requests: slots, reason: null };
    }
    const deadline_ms = clock.monotonic_ms() + IDLE_LIMIT_MS;
    for (;;) {
      const busy = await this.#busy();
      if (busy === null || busy === 0 || signal.aborted) return { requests: 0, reason: null };
      if (clock.monotonic_ms() >= deadline_ms) {
        const reason = `${busy} slots were at work for ${IDLE_LIMIT_MS / 1000} s with no request of ours`;
        return { requests: 0, reason };
      }
      await clock.sleep(IDLE_LOOK_MS, signal);
    }
  }

  async measure(request: PeriodRequest): Promise<PeriodResult> {
    const { clock } = this.#around;
    const signal = this.#signal(request.signal);
    const idle = await this.#idle(signal);
    const in_flight = new InFlight(clock);
    const watch = this.#watch(in_flight, request.workers);
    await watch.start();
    this.#recorder.start();
    const meter = startClientMeter(clock);
    const result = await replay({
      request,
      ask: (turn, round, cut) =>
        this.#ask(turn, { nonce: request.nonce, round }, cut, request.sampling),
      signal,
      in_flight,
      clock,
    });
    const client = meter.stop(result.in_flight, request.workers);
    const recorded = this.#recorder.stop();
    await this.#lookForDeath(result);
    const watched = this.#lost === null ? await watch.stop() : unknown(this.#lost);
    await watch.end();
    this.#correctSlots(watched, request.workers);
    const readings = periodReadings({
      turns: result.turns,
      log: this.#logCounts(),
      watched,
      recorded,
      context_read: this.#record.context_read,
      known_prompts: this.#known_prompts,
      cold: this.#plan.cold,
      ...this.#nature(),
    });
    const turns = result.turns.map((sent) => turnOutcome(sent));
    const disturbed =
      idle.reason ??
      (watched.alone === true ? null : watched.reason) ??
      this.#warmPrompts(turns, request.nonce);
    const period: PeriodResult = {
      turns,
      window_s: result.window_s,
      requests: result.requests + idle.requests,
      readings,
      client,
      disturbed: this.#lost === null ? disturbed : null,
      lost: this.#lost,
      ended_at_ms: clock.now_ms(),
    };
    this.#keep(period, request.workers);
    return period;
  }

  #warmPrompts(turns: PeriodResult["turns"], nonce: string): string | null {
    const again = this.#plan.cold === "nonce" && this.#nonces.has(nonce);
    this.#nonces.add(nonce);
    return again ? null : warmPrompts(turns, this.#plan.cold);
  }

  #watch(in_flight: InFlight, workers: number): Watch {
    const { neighbours, isOurs, clock, watch } = this.#around;
    const { runner } = this.#server;
    return new Watch({
      neighbours,
      own: runner.settings.kind === "openai" ? null : () => runner.loaded(),
      isOurs,
      busySlots: this.#busy,
      in_flight,
      workers,
      clock,
      ...watch,
    });
  }

  /** What this kind of server can and cannot do without a word in its log. */
  #nature(): Pick<PeriodFacts, "loud_evictions" | "fixed_model"> {
    const { kind } = this.#server.runner.settings;
    const llama = kind === "llama-server" || kind === "embedded";
    return { loud_evictions: llama, fixed_model: llama };
  }

  #logCounts(): PeriodFacts["log"] {
    const { log } = this.#server;
    if (log === null) return { unreadable: "there is no log to read" };
    const text = log.more();
    if (text === undefined) return { unreadable: "the log cannot be read" };
    if (!log.recognised) return { unreadable: "the log is not in llama.cpp's words" };
    return { counts: logCounts(text) };
  }

  async #lookForDeath({ turns }: ReplayResult): Promise<void> {
    const { exited, runner } = this.#server;
    const broken = turns.some(({ result }) =>
      ["unreachable", "stream_cut"].includes(result.fault?.class ?? ""),
    );
    if (!broken || this.#lost !== null) return;
    if (exited !== null) {
      const over = new AbortController();
      await Promise.race([exited, this.#around.clock.sleep(DEATH_LIMIT_MS, over.signal)]);
      over.abort();
      return;
    }
    const status = await runner.status();
    if (!status.reachable) this.#lost ??= "the server is not there any more";
  }

  /** A server may claim more slots than work at once: requests beyond those only wait in line. */
  #correctSlots({ busy_slots }: Watched, workers: number): void {
    const claimed = this.#record.slots_read;
    if (busy_slots === null || claimed === null || busy_slots >= Math.min(workers, claimed)) return;
    this.#around.note(
      `the server claims ${claimed} slots, but never worked on more than ${busy_slots} of ${workers} requests at once`,
    );
    this.#record = { ...this.#record, slots_read: busy_slots };
  }

  #keep(period: PeriodResult, workers: number): void {
    const [first] = period.turns;
    if (first !== undefined && period.turns.every(({ ok }) => !ok)) {
      const why = first.fault ?? "their answers had no proper end";
      this.#around.note(`not one of ${period.turns.length} turns was answered: ${why}`);
    }
    this.#around.turn_log.append(
      period.turns.map((turn) => ({
        ...turn,
        period_ended_at_ms: period.ended_at_ms,
        slots: this.#record.slots_asked,
        context_per_slot: this.#context,
        workers,
        disturbed: period.disturbed,
      })),
    );
  }

  async stop(): Promise<void> {
    this.#recorder.close();
    await this.#server.stop();
  }
}
