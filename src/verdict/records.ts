import { z } from "zod";

// What a sweep leaves behind: enough to judge it again, offline, and small enough for git. Times are
// seconds, memory is megabytes of 10^6 bytes, rates are per minute. A reading that failed is null,
// and `unavailable` says why under the reading's own name: null is never healthy.

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
/** RFC 3339, UTC. */
const instant = z.iso.datetime();

/** Memory of one GPU that has its own. `id` is the driver's index and name, no serial number. */
export const gpuReadingSchema = z.strictObject({
  id: z.string(),
  used_peak_mb: amount.nullable(),
  total_mb: amount.nullable(),
});

/**
 * The worst that was seen while one start served its measured periods with all of its workers. What a
 * smaller number of workers did on the same start is not among it.
 */
export const readingsSchema = z.strictObject({
  samples: count,
  host_used_peak_mb: amount.nullable(),
  host_total_mb: amount.nullable(),
  /** Memory limit of our own control group where it is lower than the host's memory. */
  cgroup_used_peak_mb: amount.nullable(),
  cgroup_limit_mb: amount.nullable(),
  /** Empty where no GPU has memory of its own; null where that cannot be told. */
  gpus: z.array(gpuReadingSchema).nullable(),
  swap_out_mb_per_min: amount.nullable(),
  /** Share of the time in which some task stood still for want of memory (PSI `some`), 0 to 1. */
  pressure_stall_share: z.number().min(0).max(1).nullable(),
  pressure_level: z.enum(["normal", "warn", "critical"]).nullable(),
  throttled: z.boolean().nullable(),
  /** Nobody but us used the runner's device: no other model, no other client. */
  alone: z.boolean().nullable(),
  /** Turns by what was wrong with them; none may be above zero. */
  failed_turns: count,
  cut_prompts: count.nullable(),
  context_shifts: count.nullable(),
  unfinished_turns: count,
  evicted_turns: count.nullable(),
  model_reloads: count.nullable(),
  unavailable: z.record(z.string(), z.string()),
});

/** One start of the runner with `slots` configured: what was asked, and what was really given. */
export const startSchema = z.strictObject({
  slots_asked: count,
  loaded: z.boolean(),
  /** Why it did not load; null where it did. */
  failure: z.string().nullable(),
  slots_read: count.nullable(),
  context_read: count.nullable(),
  load_s: amount.nullable(),
  memory_at_rest_mb: amount.nullable(),
  memory_loaded_mb: amount.nullable(),
  gpus_loaded: z.array(gpuReadingSchema).nullable(),
  started_at: instant,
});

/**
 * `workers` requests in flight from the first counted turn's start to the last counted turn's end.
 * Token counts are the server's; `output_tokens / window_s` is the throughput.
 */
export const periodSchema = z.strictObject({
  workers: count,
  turns: count,
  window_s: amount,
  prompt_tokens: count,
  output_tokens: count,
  cached_tokens: count.nullable(),
});

/** Agreement of answers, clustered: a segment counts once, however many of its turns differ. */
export const agreementSchema = z.strictObject({
  segments: count,
  /** Segments with a turn whose structural signature differs from the one at one slot. */
  structural_flips: count,
  /** Segments with a turn whose text differs. */
  exact_flips: count,
});

/** Four periods on one start and the same prompts: arm A is the best so far, arm B the candidate. */
export const blockSchema = z.strictObject({
  order: z.enum(["ABBA", "BAAB"]),
  periods: z.tuple([periodSchema, periodSchema, periodSchema, periodSchema]),
  /** Requests sent in it, fillers among them. */
  requests: count,
  /** Why it does not count (another client, another mix of work); null where it does. */
  discarded: z.string().nullable(),
  ended_at: instant,
});

/** The best number of workers on its own start, and on a start that has the candidate's slots. */
export const startArmSchema = z.strictObject({
  slots: count,
  workers: count,
  turns: count,
  window_s: amount,
  output_tokens: count,
});

/** Client-side gates: a client that is too slow measures itself. */
export const clientSchema = z.strictObject({
  /** Mean of the requests in flight over all measured periods, as a share of the workers. */
  in_flight_share: z.number().nullable(),
  event_loop_delay_p99_ms: amount.nullable(),
  /** Of one core. */
  cpu_share: amount.nullable(),
});

export const levelSchema = z.strictObject({
  slots: count,
  /** Workers of arm A: the best level when this one was tried. */
  against: count,
  start: startSchema,
  blocks: z.array(blockSchema),
  start_arm: z.array(startArmSchema),
  /** Answers with all slots busy against those at one slot. */
  fidelity: agreementSchema,
  readings: readingsSchema,
  client: clientSchema,
  /** When the first and the last of it was measured; the age of evidence counts from the oldest. */
  measured_from: instant,
  measured_to: instant,
});

/** What one slot does by itself: noise, answers in another order, and what its bounds read. */
export const baselineSchema = z.strictObject({
  start: startSchema,
  blocks: z.array(blockSchema),
  /** Answers at one slot against those at one slot in another order. */
  self_agreement: agreementSchema,
  readings: readingsSchema,
  client: clientSchema,
  measured_from: instant,
  measured_to: instant,
});

/** An extra measurement (`--extra N@CTX`): reported, never judged. */
export const extraSchema = z.strictObject({
  slots: count,
  context_per_slot: count,
  start: startSchema,
  period: periodSchema.nullable(),
  failed_turns: count,
  note: z.string(),
});

export const corpusSummarySchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  segments: count,
  turns: count,
  segment_length: count,
  seed: z.int(),
  /** Per stratum of depth in tokens: label, segments drawn, share of the pool's turns. */
  strata: z.array(z.strictObject({ label: z.string(), segments: count, pool_share: z.number() })),
  notes: z.array(z.string()),
});

export const methodSchema = z.strictObject({
  /** A candidate must beat the best by this share [0.10]. */
  gain_gate: z.number(),
  /** One-sided error of each look at a block series [0.015]. */
  alpha_per_look: z.number(),
  blocks_min: count,
  blocks_max: count,
  /** Non-inferiority margin of the structural signature [0.05], at `fidelity_confidence` [0.95]. */
  fidelity_margin: z.number(),
  fidelity_confidence: z.number(),
  segments_per_period: count,
  max_slots: count,
  context_per_slot: count,
  temperature: z.number(),
  seed: z.int(),
  max_tokens: count,
  /** How prompts are kept cold. */
  cold: z.enum(["cache_off", "nonce"]),
  residency: z.enum(["own_start", "attached"]),
});

/** A whole sweep. Not evidence unless `complete`. */
export const sweepSchema = z.strictObject({
  method: methodSchema,
  corpus: corpusSummarySchema,
  ladder: z.array(startSchema),
  baseline: baselineSchema,
  levels: z.array(levelSchema),
  extras: z.array(extraSchema),
  /** Requests sent in all, fillers and warm-ups among them. */
  requests: count,
  complete: z.boolean(),
  /** Why the search ended, in words. */
  stop: z.string(),
});

export type GpuReading = z.infer<typeof gpuReadingSchema>;
export type Readings = z.infer<typeof readingsSchema>;
export type StartRecord = z.infer<typeof startSchema>;
export type Period = z.infer<typeof periodSchema>;
export type Agreement = z.infer<typeof agreementSchema>;
export type Block = z.infer<typeof blockSchema>;
export type StartArm = z.infer<typeof startArmSchema>;
export type ClientReadings = z.infer<typeof clientSchema>;
export type Level = z.infer<typeof levelSchema>;
export type Baseline = z.infer<typeof baselineSchema>;
export type Extra = z.infer<typeof extraSchema>;
export type CorpusSummary = z.infer<typeof corpusSummarySchema>;
export type Method = z.infer<typeof methodSchema>;
export type Sweep = z.infer<typeof sweepSchema>;
