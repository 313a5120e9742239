import { SLOT_BOUNDS } from "../core/slot-bounds.ts";
import type { Bounds } from "./judgement.ts";
import type { Method } from "./records.ts";

// No schema library here: `slots allowed` judges again on every call and must start fast.

export const DEFAULT_BOUNDS: Bounds = SLOT_BOUNDS;

/** A client that is slower than these measures itself. No policy: they say whether a number is valid. */
export const CLIENT_GATES = {
  /** Requests in flight as a share of the workers, at least. */
  in_flight_min: 0.9,
  /** 99th percentile of the event loop's delay, at most. */
  loop_delay_p99_ms: 250,
  /** The client's own use of one core, at most. */
  cpu_share: 0.9,
} as const;

/**
 * What a virtual machine's host may take of its time: this share, or this many times what it took at
 * one slot. What it takes all the time slows every number of slots down alike.
 */
export const STOLEN_TIME = { share: 0.05, growth: 2 } as const;

/** The part of the method that does not depend on the runner and the model. */
export const DEFAULT_METHOD = {
  gain_gate: 0.1,
  gain_sought: 0.2,
  alpha_per_look: 0.015,
  give_up_alpha: 0.05,
  blocks_min: 4,
  blocks_max: 12,
  fidelity_margin: 0.05,
  fidelity_confidence: 0.95,
  text_answers: "same",
  segments_per_period: 3,
  turns_per_segment: 1,
  max_slots: 8,
  intervals: "decision",
} as const satisfies Partial<Method>;
