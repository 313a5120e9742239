import type { ClientReadings, Readings, StartRecord } from "../verdict/index.ts";

/** One request of the corpus, with the corpus's own ids. */
export interface Turn {
  id: string;
  segment_id: string;
}

/** Turns of one segment are sent in this order, one after the other, by one worker. */
export interface Segment {
  id: string;
  stratum: string;
  /** What it counts for, so that the sample gives back the pool's own mix; mean 1. */
  weight: number;
  turns: readonly Turn[];
}

/** What became of one turn. Counts are the server's; null is "not told". */
export interface TurnOutcome {
  turn_id: string;
  segment_id: string;
  ok: boolean;
  /** Class and message of the fault; null where it was answered. */
  fault: string | null;
  /** Seconds from the start of the period, monotonic. */
  started_s: number;
  ended_s: number;
  prompt_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  finish_reason: string | null;
  /** The prompt was longer than the slot's context: refused, or cut to fit. */
  too_long?: boolean;
  /** Tool calls with argument names in order, or what kind of text it was. */
  structural: string | null;
  /** Hash of the whole answer; never the answer. */
  exact: string | null;
}

/** How answers are drawn in production: null = as the runner, or the model, does by itself. */
export interface Sampling {
  temperature: number | null;
}

export interface PeriodRequest {
  workers: number;
  /** Counted, in this order; each worker takes the next whole segment. */
  segments: readonly Segment[];
  /** Sent after the counted ones, so that all workers stay busy; cut off when the last one ends. */
  fillers: readonly Segment[];
  /** Makes prompts cold where the runner cannot switch its cache off: equal length, new each block. */
  nonce: string;
  /** As production samples, with no fixed seed; else as the method says. */
  sampling?: Sampling;
  signal?: AbortSignal;
}

export interface PeriodResult {
  turns: readonly TurnOutcome[];
  /** From the first counted turn's start to the last counted turn's end. */
  window_s: number;
  /** Requests sent, fillers among them. */
  requests: number;
  readings: Readings;
  client: ClientReadings;
  /** Somebody else used the device meanwhile; the period does not count. null = nobody did. */
  disturbed: string | null;
  /** The server died or was lost; nothing more can be measured on this start. null = it lives. */
  lost: string | null;
  /** Wall clock, milliseconds since the epoch. */
  ended_at_ms: number;
}

/** One running server with a number of slots configured. */
export interface DeviceStart {
  readonly record: StartRecord;
  warmUp: (workers: number, signal?: AbortSignal) => Promise<void>;
  measure: (request: PeriodRequest) => Promise<PeriodResult>;
  stop: () => Promise<void>;
}

/**
 * What a sweep is measured on: this machine with a runner of ours, or a simulation. `start` does not
 * throw where the model does not load: its record says so, and it is already stopped.
 */
export interface CalibrationDevice {
  start: (options: {
    slots: number;
    /** Tokens of context for each slot. */
    context_per_slot: number;
    signal?: AbortSignal;
  }) => Promise<DeviceStart>;
}
