import type { Clock } from "../../src/core/clock.ts";
import { isoTime } from "../../src/core/clock.ts";
import type {
  CalibrationDevice,
  DeviceStart,
  PeriodRequest,
  PeriodResult,
  Segment,
  Turn,
  TurnOutcome,
} from "../../src/calibrate/device.ts";
import { quietReadings } from "../../tests/helpers/quiet-readings.ts";
import type { StartRecord } from "../../src/verdict/index.ts";
import { Draw } from "./random.ts";
import { realSlots } from "./truth.ts";
import type { Truth } from "./truth.ts";

const BUCKET_S = 10;
const DRIFT_S = 600;
const THERMAL_S = 6000;
const HOST_MB = 32_000;

/** Work of one turn at one slot, seconds, and its tokens. Follows from its name alone. */
export interface Work {
  seconds: number;
  prompt_tokens: number;
  output_tokens: number;
}

export class VirtualClock implements Clock {
  #ms = 0;
  readonly #epoch_ms = Date.UTC(2026, 0, 15, 20, 0, 0);
  now_ms = (): number => this.#epoch_ms + this.#ms;
  monotonic_ms = (): number => this.#ms;
  async sleep(duration_ms: number): Promise<void> {
    this.advance(duration_ms / 1000);
  }
  advance(seconds: number): void {
    this.#ms += seconds * 1000;
  }
}

/** How fast the machine is over time: quick noise, slow drift, heat. */
class Speed {
  readonly #truth: Truth;
  readonly #draw: Draw;
  readonly #buckets: number[] = [];
  #drift: number;

  constructor(truth: Truth, seed: number) {
    this.#truth = truth;
    this.#draw = new Draw(seed);
    this.#drift = this.#draw.normal();
  }

  at(time_s: number): number {
    const bucket = Math.floor(time_s / BUCKET_S);
    while (this.#buckets.length <= bucket) this.#extend();
    return this.#buckets[bucket] ?? 1;
  }

  #extend(): void {
    const { noise, thermal } = this.#truth;
    const keep = Math.exp(-BUCKET_S / DRIFT_S);
    this.#drift = keep * this.#drift + Math.sqrt(1 - keep * keep) * this.#draw.normal();
    // The mean over six windows of ten seconds has a standard deviation of `noise`.
    const quick = noise * Math.sqrt(60 / BUCKET_S) * this.#draw.normal();
    const heat = thermal * Math.min(1, (this.#buckets.length * BUCKET_S) / THERMAL_S);
    this.#buckets.push(Math.exp(quick + noise * this.#drift) * (1 - heat));
  }
}

interface Job {
  turn: Turn;
  counted: boolean;
  left: number;
  work: Work;
  worker: number;
  started_s: number;
  flipped: boolean;
  cached: boolean;
}

export class SimulatedDevice implements CalibrationDevice {
  /** Turns sent in all, lead-ins and fillers among them. */
  turns = 0;
  readonly clock: VirtualClock;
  readonly truth: Truth;
  readonly #speed: Speed;
  readonly #draw: Draw;
  readonly #work: (turn: Turn) => Work;

  constructor(truth: Truth, seed: number, work: (turn: Turn) => Work, clock = new VirtualClock()) {
    this.truth = truth;
    this.clock = clock;
    this.#speed = new Speed(truth, seed * 2 + 1);
    this.#draw = new Draw(seed * 2);
    this.#work = work;
  }

  start: CalibrationDevice["start"] = async ({ slots, context_per_slot }) => {
    this.clock.advance(10);
    const record = this.#record(slots, context_per_slot);
    const factor = Math.exp(this.truth.start_noise * this.#draw.normal());
    const start: DeviceStart = {
      record,
      warmUp: async () => this.clock.advance(2),
      measure: async (request) => this.#measure(slots, factor, request),
      stop: async () => this.clock.advance(1),
    };
    return start;
  };

  #memory(slots: number, busy: number): number {
    const { fault, fault_at } = this.truth;
    const hidden = fault === "memory_busy" ? busy : slots;
    const over = (fault === "memory" || fault === "memory_busy") && hidden >= fault_at;
    return over ? 0.9 * HOST_MB : (0.4 + 0.02 * slots) * HOST_MB;
  }

  #record(slots: number, context: number): StartRecord {
    const { fault, fault_at } = this.truth;
    const loaded = !(fault === "load" && slots >= fault_at);
    return {
      slots_asked: slots,
      loaded,
      failure: loaded ? null : "out of memory",
      slots_read: !loaded ? null : fault === "cut_told" ? realSlots(this.truth, slots) : slots,
      context_read: loaded ? context : null,
      load_s: loaded ? 10 : null,
      memory_at_rest_mb: 4000,
      memory_loaded_mb: loaded ? this.#memory(slots, 1) : null,
      gpus_loaded: [],
      started_at: isoTime(this.clock.now_ms()),
    };
  }

  #job(
    turn: Turn,
    counted: boolean,
    worker: number,
    busy: number,
    slots: number,
    now_s: number,
  ): Job {
    const { truth } = this;
    const base = this.#work(turn);
    const flipped = busy > 1 && this.#draw.chance(truth.flips);
    const cached = truth.fault === "cache" && busy > 1 && slots > 1 && this.#draw.chance(0.4);
    const length = flipped ? this.#draw.between(0.7, 1.3) : 1;
    const work = {
      ...base,
      output_tokens: Math.max(1, Math.round(base.output_tokens * length)),
      seconds: base.seconds * (cached ? 0.35 : 1) * (0.7 + 0.3 * length),
    };
    this.turns += 1;
    return { turn, counted, left: work.seconds, work, worker, started_s: now_s, flipped, cached };
  }

  /** Workers take whole segments; the slots that really work share the machine's speed evenly. */
  #measure(slots: number, factor: number, request: PeriodRequest): PeriodResult {
    const { truth, clock } = this;
    const { workers, segments, fillers } = request;
    const begin_s = clock.monotonic_ms() / 1000;
    const before = this.turns;
    if (truth.fault === "dies" && workers >= truth.fault_at) {
      clock.advance(30);
      this.turns += workers;
      return this.#result(slots, request, [], workers, "the server ended with signal 9");
    }
    const queue = segmentsOf(segments, true);
    const after = segmentsOf(fillers, false);
    const real = realSlots(truth, slots);
    const cost = factor * (1 - truth.slot_cost * (slots - 1));
    const todo: (Turn & { counted: boolean })[][] = Array.from({ length: workers }, () => []);
    const jobs: Job[] = [];
    const outcomes: TurnOutcome[] = [];
    let counted_left = queue.reduce((sum, segment) => sum + segment.length, 0);
    let now_s = begin_s;
    const next = (worker: number): void => {
      const own = todo[worker] ?? [];
      if (own.length === 0) own.push(...(queue.shift() ?? after.shift() ?? []));
      const turn = own.shift();
      if (turn !== undefined)
        jobs.push(this.#job(turn, turn.counted, worker, workers, slots, now_s));
    };
    for (let worker = 0; worker < workers; worker++) next(worker);
    while (counted_left > 0 && jobs.length > 0) {
      const busy = Math.min(real, jobs.length);
      const share = ((truth.rate[busy - 1] ?? 1) / busy) * cost * this.#speed.at(now_s);
      const active = jobs.slice(0, busy);
      const first = active.reduce((a, b) => (b.left < a.left ? b : a));
      const bucket_s = (Math.floor(now_s / BUCKET_S) + 1) * BUCKET_S - now_s;
      const step_s = Math.min(bucket_s + 1e-9, first.left / share);
      for (const job of active) job.left -= step_s * share;
      now_s += step_s;
      if (first.left > 1e-9) continue;
      jobs.splice(jobs.indexOf(first), 1);
      if (first.counted) {
        outcomes.push(outcome(first, begin_s, now_s));
        counted_left -= 1;
      }
      next(first.worker);
    }
    clock.advance(now_s - begin_s);
    return this.#result(slots, request, outcomes, this.turns - before, null);
  }

  #result(
    slots: number,
    request: PeriodRequest,
    turns: TurnOutcome[],
    requests: number,
    lost: string | null,
  ): PeriodResult {
    const window_s = Math.max(0, ...turns.map((turn) => turn.ended_s));
    const disturbed = this.#draw.chance(this.truth.disturbed);
    return {
      turns,
      window_s,
      requests,
      readings: quietReadings({
        host_used_peak_mb: this.#memory(slots, request.workers),
        host_total_mb: HOST_MB,
      }),
      client: { in_flight_share: 1, event_loop_delay_p99_ms: 3, cpu_share: 0.05 },
      disturbed: disturbed ? "another client used the runner" : null,
      lost,
      ended_at_ms: this.clock.now_ms(),
    };
  }
}

function segmentsOf(
  segments: readonly Segment[],
  counted: boolean,
): (Turn & { counted: boolean })[][] {
  return segments.map((segment) => segment.turns.map((turn) => ({ ...turn, counted })));
}

function outcome(job: Job, begin_s: number, now_s: number): TurnOutcome {
  const { turn, work, flipped, cached } = job;
  return {
    turn_id: turn.id,
    segment_id: turn.segment_id,
    ok: true,
    fault: null,
    started_s: job.started_s - begin_s,
    ended_s: now_s - begin_s,
    prompt_tokens: work.prompt_tokens,
    output_tokens: work.output_tokens,
    cached_tokens: cached ? Math.round(0.9 * work.prompt_tokens) : 0,
    finish_reason: "stop",
    structural: flipped ? "tools:other()" : "tools:read(path)",
    exact: flipped ? `${turn.id}*` : turn.id,
  };
}
