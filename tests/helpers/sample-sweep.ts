import {
  DEFAULT_METHOD,
  type Block,
  type Level,
  type Readings,
  type StartRecord,
  type Sweep,
} from "../../src/verdict/index.ts";
import { quietReadings } from "./quiet-readings.ts";

const BASE_MS = Date.UTC(2026, 0, 10, 8, 0, 0);

/** RFC 3339, so many minutes after the sample sweep's start. */
export function minute(minutes: number): string {
  return new Date(BASE_MS + minutes * 60_000).toISOString();
}

function readings(slots: number): Readings {
  return quietReadings({
    samples: 240,
    host_used_peak_mb: 14_000 + 1500 * slots,
    host_total_mb: 25_770,
    swap_out_mb_per_min: slots,
    pressure_level: "normal",
  });
}

function start(slots: number, minutes: number): StartRecord {
  return {
    slots_asked: slots,
    loaded: true,
    failure: null,
    slots_read: slots,
    context_read: 8192,
    load_s: 3.2,
    memory_at_rest_mb: 6000,
    memory_loaded_mb: 13_000 + 1000 * slots,
    gpus_loaded: [],
    started_at: minute(minutes),
  };
}

/** Arm A gives `rate` tokens a second, arm B `ratio` times as many, but for a noise of `wobble`. */
function block(rate: number, ratio: number, wobble: number, minutes: number): Block {
  const second = (fast: boolean, sign: number): number =>
    Number((2400 / rate / (fast ? ratio : 1) / (1 + sign * wobble)).toFixed(3));
  return {
    order: "ABBA",
    turns: [4, 4, 4, 4],
    busy_s: [second(false, 1), second(true, -1), second(true, 1), second(false, -1)],
    prompt_tokens: [8000, 8000, 8000, 8000],
    output_tokens: [2400, 2400, 2400, 2400],
    cached_tokens: [0, 0, 0, 0],
    requests: 22,
    ended_at: minute(minutes),
  };
}

const CLIENT = { in_flight_share: 0.99, event_loop_delay_p99_ms: 12, cpu_share: 0.08 };

/** One level with `ratio` times the throughput of `against` slots. */
export function sampleLevel(slots: number, against: number, ratio: number, from: number): Level {
  const blocks = [0.05, -0.03, 0.06, -0.02, 0.04, -0.05];
  const rate = against === 1 ? 20 : 28.4;
  const arm = (on: number, factor: number) => ({
    slots: on,
    workers: against,
    turns: 8,
    busy_s: Number((4800 / rate / factor).toFixed(3)),
    output_tokens: 4800,
  });
  return {
    slots,
    against,
    start: start(slots, from),
    blocks: blocks.map((wobble, index) => block(rate, ratio, wobble, from + 2 + index * 3)),
    discards: [],
    start_arm: [arm(against, 1), arm(slots, 0.995), arm(against, 1.006), arm(slots, 1.001)],
    fidelity: { segments: 64, structural_flips: 0, exact_flips: 3 },
    readings: readings(slots),
    client: CLIENT,
    lost: null,
    ended: "",
    measured_from: minute(from),
    measured_to: minute(from + 24),
  };
}

/** A complete sweep: two slots gain, three break a ceiling, four do not load. */
export function sampleSweep(): Sweep {
  const levels = [sampleLevel(2, 1, 1.42, 60), sampleLevel(3, 2, 1.18, 90)];
  const third = levels[1]?.readings;
  if (third !== null && third !== undefined) third.host_used_peak_mb = 21_400;
  return {
    method: {
      ...DEFAULT_METHOD,
      context_per_slot: 8192,
      temperature: 0,
      seed: 42,
      max_tokens: 512,
      cold: "cache_off",
      residency: "own_start",
    },
    corpus: {
      sha256: "5e".repeat(32),
      segments: 64,
      turns: 192,
      segment_length: 3,
      seed: 7,
      strata: [
        { label: "0-2047", segments: 40, pool_share: 0.61 },
        { label: ">=2048", segments: 24, pool_share: 0.39 },
      ],
      notes: ["drawn from 12 bundles"],
    },
    ladder: [
      start(1, 0),
      start(2, 2),
      start(3, 4),
      {
        ...start(4, 6),
        loaded: false,
        failure: "out of memory",
        slots_read: null,
        context_read: null,
        load_s: null,
        memory_loaded_mb: null,
        gpus_loaded: null,
      },
    ],
    baseline: {
      start: start(1, 10),
      blocks: [0.04, -0.03, 0.035, -0.045].map((wobble, i) => block(20, 1, wobble, 12 + i * 6)),
      discards: [],
      self_agreement: { segments: 64, structural_flips: 0, exact_flips: 1 },
      readings: readings(1),
      client: CLIENT,
      measured_from: minute(10),
      measured_to: minute(40),
    },
    levels,
    extras: [],
    requests: 420,
    complete: true,
    stop: "three slots break a bound",
  };
}
