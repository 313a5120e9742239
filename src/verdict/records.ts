import { z } from "zod";

// What a sweep leaves behind: enough to judge it again, offline, and small enough for git. Times are
// seconds, memory is megabytes of 10^6 bytes, rates are per minute. A reading that failed is null,
// and `unavailable` says why under the reading's own name: null is never healthy.

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
/** RFC 3339, UTC. */
const instant = z.iso.datetime();

/** Memory of one GPU that has its own. `id` is the driver's index and name, no serial number. */
const gpuReadingSchema = z.strictObject({
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
  /**
   * Memory limit of our own control group where it is lower than the host's memory. No such limit is
   * null without a line in `unavailable`; a limit that cannot be read is null with one.
   */
  cgroup_used_peak_mb: amount.nullable(),
  cgroup_limit_mb: amount.nullable(),
  /** Empty where no GPU has memory of its own; null where that cannot be told. */
  gpus: z.array(gpuReadingSchema).nullable(),
  swap_out_mb_per_min: amount.nullable(),
  /** Share of the time in which some task stood still for want of memory (PSI `some`), 0 to 1. */
  pressure_stall_share: z.number().min(0).max(1).nullable(),
  pressure_level: z.enum(["normal", "warn", "critical"]).nullable(),
  /** By heat or power. Earlier documents: in a virtual machine also by its host. */
  throttled: z.boolean().nullable(),
  /**
   * Share of a virtual machine's processor time that its host took for others, 0 to 1. Where it is told
   * it stands for heat, of which a guest is told nothing. Absent on other machines.
   */
  stolen_time_share: z.number().min(0).max(1).nullable().optional(),
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
const startSchema = z.strictObject({
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
 * Counted turns of some workers. `busy_s` is the sum of the turns' durations divided by the workers
 * that were really in flight: the time in which all workers together did this work, with no ramp and
 * no tail in it. Token counts are the server's; `output_tokens / busy_s` is the throughput.
 */
const periodSchema = z.strictObject({
  workers: count,
  turns: count,
  busy_s: amount,
  prompt_tokens: count,
  output_tokens: count,
  cached_tokens: count.nullable(),
});

/** Agreement of answers, clustered: a segment counts once, however many of its turns differ. */
const agreementSchema = z.strictObject({
  segments: count,
  /** Segments with a turn whose structural signature differs from the one at one slot. */
  structural_flips: count,
  /** Segments with a turn whose text differs. */
  exact_flips: count,
});

const fourCounts = z.tuple([count, count, count, count]);
const fourAmounts = z.tuple([amount, amount, amount, amount]);

/**
 * Four periods on one start, in the order of time: arm A is the best so far (`against` workers), arm B
 * the candidate (`slots` workers). The first two have the same prompts, the last two have the same
 * prompts. One column a quantity, one row a period (see `periodSchema`): a sweep must stay small.
 */
const blockSchema = z.strictObject({
  order: z.enum(["ABBA", "BAAB"]),
  turns: fourCounts,
  busy_s: fourAmounts,
  prompt_tokens: fourCounts,
  output_tokens: fourCounts,
  /** null = the server does not tell. */
  cached_tokens: fourCounts.nullable(),
  /** Requests sent in it, lead-ins and fillers among them. */
  requests: count,
  ended_at: instant,
});

/** Blocks that were thrown away, with the reason (another client, another mix of work). */
const discardSchema = z.strictObject({ reason: z.string(), blocks: count });

/**
 * The best number of workers (`workers`) on a start with `slots` slots: its own, or the candidate's.
 * Every arm of a level has the same prompts; arms stand in the order of time, each on another start.
 */
const startArmSchema = z.strictObject({
  slots: count,
  workers: count,
  turns: count,
  busy_s: amount,
  output_tokens: count,
});

/** Client-side gates: a client that is too slow measures itself. */
const clientSchema = z.strictObject({
  /** Mean of the requests in flight over all measured periods, as a share of the workers. */
  in_flight_share: z.number().nullable(),
  event_loop_delay_p99_ms: amount.nullable(),
  /** Of one core. */
  cpu_share: amount.nullable(),
});

/** One candidate: `slots` configured and busy, against the best number when it was tried. */
const levelSchema = z.strictObject({
  slots: count,
  /** Workers of arm A: the best level when this one was tried. */
  against: count,
  start: startSchema,
  blocks: z.array(blockSchema),
  discards: z.array(discardSchema),
  start_arm: z.array(startArmSchema),
  /** Answers with all slots busy against those at one slot. */
  fidelity: agreementSchema,
  /** null where nothing could be served. */
  readings: readingsSchema.nullable(),
  client: clientSchema.nullable(),
  /** Why the server died or was lost while it served this level; null where it lived. */
  lost: z.string().nullable(),
  /** Turns that were longer than a slot's context here and not at one slot; absent where none was. */
  too_long_turns: count.optional(),
  /** Why no more was measured here, in words. */
  ended: z.string(),
  /** When the first and the last of it was measured; the age of evidence counts from the oldest. */
  measured_from: instant,
  measured_to: instant,
});

/**
 * What one slot does by itself: noise, answers in another order, and what its bounds read. Without
 * blocks and readings where the ladder alone gave the answer.
 */
const baselineSchema = z.strictObject({
  start: startSchema,
  blocks: z.array(blockSchema),
  discards: z.array(discardSchema),
  /** Answers at one slot against those at one slot in another order. */
  self_agreement: agreementSchema,
  readings: readingsSchema.nullable(),
  client: clientSchema.nullable(),
  /** Turns that one slot could not hold; absent where none was. */
  too_long_turns: count.optional(),
  measured_from: instant,
  measured_to: instant,
});

/** An extra measurement (`--extra N@CTX`): reported, never judged. */
const extraSchema = z.strictObject({
  slots: count,
  context_per_slot: count,
  start: startSchema,
  period: periodSchema.nullable(),
  failed_turns: count,
  note: z.string(),
});

/**
 * The number that was found, with answers drawn as production draws them (`--production-sampling`):
 * reported, never judged. Arm A of its blocks is one worker on the same start, arm B all slots.
 */
const sampledSchema = z.strictObject({
  slots: count,
  /** null = the runner's own default, or the model's. */
  temperature: z.number().nullable(),
  blocks: z.array(blockSchema),
  failed_turns: count,
  /** Why there are fewer blocks than wanted; empty where there are not. */
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
  /** A level is given up as soon as a gain of this share can be ruled out [0.20]. */
  gain_sought: z.number(),
  /** One-sided error of each look at a block series [0.015]. */
  alpha_per_look: z.number(),
  /** One-sided error of each look that gives a level up, since the gain sought is ruled out [0.05]. */
  give_up_alpha: z.number().optional(),
  blocks_min: count,
  blocks_max: count,
  /** Non-inferiority margin of the structural signature [0.05], at `fidelity_confidence` [0.95]. */
  fidelity_margin: z.number(),
  fidelity_confidence: z.number(),
  /**
   * When an answer without tool calls is that of one slot: with the `same` words, or with `any` words in
   * a text of the same kind (plain, fenced, JSON, empty). Absent = `any`.
   */
  text_answers: z.enum(["same", "any"]).optional(),
  /** Segments in a period, at least [3]; noisy devices get more. */
  segments_per_period: count,
  /** Turns sent of each segment in a period [1]: noisy devices get more, up to the whole segment. */
  turns_per_segment: count,
  max_slots: count,
  context_per_slot: count,
  temperature: z.number(),
  seed: z.int(),
  max_tokens: count,
  /** How prompts are kept cold. */
  cold: z.enum(["cache_off", "nonce"]),
  residency: z.enum(["own_start", "attached"]),
  /**
   * The interval of a level is the one that it was decided with, and its ends are told to a tenth of a
   * percent. Documents without it have Student's interval of the level's own blocks, whole percents.
   */
  intervals: z.literal("decision").optional(),
});

/** A whole sweep. Not evidence unless `complete`. */
export const sweepSchema = z.strictObject({
  method: methodSchema,
  corpus: corpusSummarySchema,
  ladder: z.array(startSchema),
  baseline: baselineSchema,
  levels: z.array(levelSchema),
  extras: z.array(extraSchema),
  production_sampling: sampledSchema.optional(),
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
export type Discard = z.infer<typeof discardSchema>;
export type Block = z.infer<typeof blockSchema>;
export type StartArm = z.infer<typeof startArmSchema>;
export type ClientReadings = z.infer<typeof clientSchema>;
export type Level = z.infer<typeof levelSchema>;
export type Extra = z.infer<typeof extraSchema>;
export type Sampled = z.infer<typeof sampledSchema>;
export type CorpusSummary = z.infer<typeof corpusSummarySchema>;
export type Method = z.infer<typeof methodSchema>;
export type Sweep = z.infer<typeof sweepSchema>;
