import type { Clock } from "../core/clock.ts";
import type { GenerateResult } from "../runners/index.ts";
import type { InFlight } from "./client-meter.ts";
import type { PeriodRequest, Segment, Turn } from "./device.ts";

/** One turn that was sent and what came back; times in seconds from the start of the period. */
export interface SentTurn {
  turn: Turn;
  result: GenerateResult;
  started_s: number;
  ended_s: number;
}

export interface ReplayOptions {
  request: Pick<PeriodRequest, "workers" | "segments" | "fillers">;
  /** `round` is 0 for the counted turns and the first pass over the fillers, then 1, 2 ... */
  ask: (turn: Turn, round: number, signal: AbortSignal) => Promise<GenerateResult>;
  /** Ends everything: the caller gave up, or the server is gone. */
  signal: AbortSignal;
  in_flight: InFlight;
  clock: Clock;
}

export interface ReplayResult {
  /** The counted turns, in the order in which they ended. */
  turns: SentTurn[];
  window_s: number;
  /** Requests sent, fillers among them. */
  requests: number;
  /** Mean of the requests in flight over the window. */
  in_flight: number | null;
}

/** A server that refuses everything at once must not be asked thousands of times a second. */
const FILLER_FAULTS = 3;

class Replay {
  readonly #options: ReplayOptions;
  readonly #start_ms: number;
  readonly #turns: SentTurn[] = [];
  /** Aborts when the last counted turn has ended: what still runs then is cut off. */
  readonly #counted = new AbortController();
  readonly #signal: AbortSignal;
  #segment = 0;
  #filler = 0;
  #left: number;
  #requests = 0;
  #mean: number | null = null;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#start_ms = options.clock.monotonic_ms();
    this.#left = options.request.segments.length;
    this.#signal = AbortSignal.any([options.signal, this.#counted.signal]);
  }

  async run(): Promise<ReplayResult> {
    const { request, in_flight } = this.#options;
    in_flight.begin();
    if (this.#left === 0) this.#counted.abort();
    const workers = Array.from({ length: request.workers }, () => this.#work());
    await Promise.all(workers);
    const starts = this.#turns.map(({ started_s }) => started_s);
    const ends = this.#turns.map(({ ended_s }) => ended_s);
    const window_s = starts.length === 0 ? 0 : Math.max(...ends) - Math.min(...starts);
    return { turns: this.#turns, window_s, requests: this.#requests, in_flight: this.#mean };
  }

  async #work(): Promise<void> {
    for (;;) {
      const segment = this.#options.request.segments[this.#segment];
      if (segment === undefined || this.#signal.aborted) break;
      this.#segment += 1;
      await this.#counts(segment);
    }
    await this.#fill();
  }

  async #counts(segment: Segment): Promise<void> {
    for (const turn of segment.turns) {
      if (this.#signal.aborted) return;
      this.#turns.push(await this.#send(turn, 0));
    }
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#mean = this.#options.in_flight.mean();
    this.#counted.abort();
  }

  async #fill(): Promise<void> {
    const { fillers } = this.#options.request;
    let faults = 0;
    while (fillers.length > 0 && faults < FILLER_FAULTS) {
      const place = this.#filler;
      this.#filler += 1;
      const round = Math.floor(place / fillers.length);
      for (const turn of fillers[place % fillers.length]?.turns ?? []) {
        if (this.#signal.aborted) return;
        const { result } = await this.#send(turn, round);
        faults = result.ok ? 0 : faults + 1;
      }
    }
  }

  async #send(turn: Turn, round: number): Promise<SentTurn> {
    const { ask, in_flight } = this.#options;
    const started_s = this.#now_s();
    this.#requests += 1;
    in_flight.change(1);
    try {
      const result = await ask(turn, round, this.#signal);
      return { turn, result, started_s, ended_s: this.#now_s() };
    } finally {
      in_flight.change(-1);
    }
  }

  #now_s(): number {
    return (this.#options.clock.monotonic_ms() - this.#start_ms) / 1000;
  }
}

/**
 * Replays whole segments with a number of workers: each takes the next segment and sends its turns one
 * after the other. Who finds no segment left sends fillers, so that all stay busy until the last
 * counted turn ends; then what is still in flight is cut off.
 */
export function replay(options: ReplayOptions): Promise<ReplayResult> {
  return new Replay(options).run();
}
