import { DEFAULT_METHOD } from "../../../src/verdict/index.ts";
import { quietReadings } from "../../helpers/quiet-readings.ts";
import type {
  Block,
  ClientReadings,
  Level,
  Method,
  StartRecord,
  Sweep,
} from "../../../src/verdict/index.ts";

export const AT = "2026-01-15T20:00:00.000Z";

export const METHOD: Method = {
  ...DEFAULT_METHOD,
  context_per_slot: 8192,
  temperature: 0,
  seed: 42,
  max_tokens: 512,
  cold: "cache_off",
  residency: "own_start",
};

export const CLIENT: ClientReadings = {
  in_flight_share: 0.99,
  event_loop_delay_p99_ms: 4,
  cpu_share: 0.05,
};

export function started(slots: number, over: Partial<StartRecord> = {}): StartRecord {
  return {
    slots_asked: slots,
    loaded: true,
    failure: null,
    slots_read: slots,
    context_read: 8192,
    load_s: 4.2,
    memory_at_rest_mb: 4000,
    memory_loaded_mb: 14_000,
    gpus_loaded: [],
    started_at: AT,
    ...over,
  };
}

/** A block whose arm B is `ratio` times as fast as arm A. */
export function block(ratio: number, over: Partial<Block> = {}): Block {
  return {
    order: "ABBA",
    turns: [4, 4, 4, 4],
    busy_s: [40, 40 / ratio, 40 / ratio, 40],
    prompt_tokens: [30_000, 30_000, 30_000, 30_000],
    output_tokens: [600, 600, 600, 600],
    cached_tokens: [0, 0, 0, 0],
    requests: 24,
    ended_at: AT,
    ...over,
  };
}

/** A block at one slot whose two pairs differ by the factor `off`. */
export const noiseBlock = (off: number): Block =>
  block(1, { busy_s: [40, 40 / off, 40, 40 / off] });

export function level(slots: number, against: number, over: Partial<Level> = {}): Level {
  const arm = (on: number) => ({
    slots: on,
    workers: against,
    turns: 4,
    busy_s: 40,
    output_tokens: 600,
  });
  return {
    slots,
    against,
    start: started(slots),
    blocks: [1.5, 1.52, 1.49, 1.51].map((ratio) => block(ratio)),
    discards: [],
    start_arm: [arm(slots), arm(against), arm(against), arm(slots)],
    fidelity: { segments: 60, structural_flips: 0, exact_flips: 3 },
    readings: quietReadings(),
    client: CLIENT,
    lost: null,
    ended: "",
    measured_from: AT,
    measured_to: AT,
    ...over,
  };
}

export function sweep(levels: Level[], over: Partial<Sweep> = {}): Sweep {
  return {
    method: METHOD,
    corpus: {
      sha256: "a".repeat(64),
      segments: 128,
      turns: 384,
      segment_length: 3,
      seed: 1,
      strata: [{ label: "0-16383", segments: 128, pool_share: 1 }],
      notes: [],
    },
    ladder: [started(1), ...levels.map((one) => started(one.slots))],
    baseline: {
      start: started(1),
      blocks: [1.01, 0.99, 1.02].map(noiseBlock),
      discards: [],
      self_agreement: { segments: 18, structural_flips: 0, exact_flips: 0 },
      readings: quietReadings(),
      client: CLIENT,
      measured_from: AT,
      measured_to: AT,
    },
    levels,
    extras: [],
    requests: 300,
    complete: true,
    stop: "no more slots can be expected to gain",
    ...over,
  };
}
