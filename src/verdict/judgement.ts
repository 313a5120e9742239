import { z } from "zod";

/** Ceilings and rates that a level above one slot must keep. At one slot they warn. */
const boundsSchema = z.strictObject({
  /** Share of the host's memory, of a control group's limit and of each GPU's memory [0.80]. */
  memory_ceiling: z.number().positive().max(1),
  /** Swap-out may be this many times the rate at one slot [2] ... */
  swap_growth: z.number().positive(),
  /** ... or this rate, whichever is higher [64]. */
  swap_floor_mb_per_min: z.number().nonnegative(),
  /** Share of the time that tasks may stand still for want of memory [0.10]. */
  pressure_stall_share: z.number().positive().max(1),
});

const BOUND_NAMES = [
  "load",
  "server",
  "slots",
  "context",
  "host_memory",
  "cgroup_memory",
  "gpu_memory",
  "swap",
  "pressure",
  "throttled",
  "stolen_time",
  "alone",
  "failed_turns",
  "cut_prompts",
  "context_shifts",
  "unfinished_turns",
  "evicted_turns",
  "model_reloads",
  "fidelity",
  "client",
] as const;

/** A broken bound, with the reason in words. One that cannot be read is broken. */
const breachSchema = z.strictObject({
  slots: z.int().positive(),
  bound: z.enum(BOUND_NAMES),
  reason: z.string(),
});

const levelJudgementSchema = z.strictObject({
  slots: z.int().positive(),
  against: z.int().positive(),
  /** Throughput here over throughput of `against`, with what the slots themselves cost where that was
   * measured; null = not measured. */
  ratio: z.number().nullable(),
  ratio_low: z.number().nullable(),
  ratio_high: z.number().nullable(),
  /** Gain over what perfect scaling would give: 1 = each slot brings its whole share. */
  share_of_ideal: z.number().nullable(),
  /** Server-counted output tokens a second, all workers together. */
  tokens_per_s: z.number().nullable(),
  turns_per_hour: z.number().nullable(),
  /** `baseline` is one slot itself. */
  gain: z.enum(["baseline", "accepted", "rejected", "not_proven", "not_measured"]),
  /** Whether answers are proven to be those of one slot, within the margin. */
  fidelity: z.enum(["proven", "not_proven", "broken", "not_measured"]),
  breaches: z.array(breachSchema),
  warnings: z.array(z.string()),
});

export const verdictSchema = z.strictObject({
  /** `too_noisy` and `incomplete` answer nothing: the number is 1 and is not evidence. */
  result: z.enum(["measured", "too_noisy", "incomplete"]),
  /** Where gain ends, inside all bounds. */
  recommended: z.int().positive(),
  /** The last number inside every bound, gain or not. */
  max_safe: z.int().positive(),
  first_breach: breachSchema.nullable(),
  /** Relative standard deviation of one block at one slot, and the smallest gain that can be seen. */
  noise: z.strictObject({
    sigma_log: z.number().nullable(),
    smallest_gain: z.number().nullable(),
  }),
  levels: z.array(levelJudgementSchema),
  bounds: boundsSchema,
  /** One sentence: why this number. */
  reason: z.string(),
});

export type Bounds = z.infer<typeof boundsSchema>;
export type BoundName = (typeof BOUND_NAMES)[number];
export type Breach = z.infer<typeof breachSchema>;
export type LevelJudgement = z.infer<typeof levelJudgementSchema>;
export type Verdict = z.infer<typeof verdictSchema>;
