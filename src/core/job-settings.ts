import { z } from "zod";
import { commandAllowed, splitCommand } from "./command-line.ts";

/**
 * Settings that touchstoned.yaml (`defaults`), a queue file (`defaults`) and each of its entries
 * share. This is the one place that has their defaults. Two forms of each: the full one, which fills
 * in what is missing, and the partial one, which keeps what was written apart from what was not, so
 * that layers can be merged key by key.
 */

/** Node fires a timer at once when it is longer than 24.8 days; no step needs half of that. */
const MAX_SECONDS = 1_000_000;

const duration = z.number().positive().max(MAX_SECONDS);

const settleFields = {
  timeout_s: z.number().min(0).max(MAX_SECONDS).describe("Longest wait for memory to come to rest"),
  plateau_polls: z.int().min(2).max(1000).describe("Looks whose range must be below epsilon_mb"),
  poll_interval_s: duration.describe("Seconds between two looks"),
  epsilon_mb: z.number().positive().describe("Largest range of memory in use that counts as rest"),
};

const stepTimeoutFields = {
  load: duration.describe("Hard limit of loading the model, seconds"),
  eval: duration.describe("Hard limit of the eval step, seconds"),
  judge: duration.describe("Hard limit of the judge step, seconds"),
};

const idleTimeoutFields = {
  eval: duration.describe("Longest silence of the eval step, seconds"),
  judge: duration.describe("Longest silence of the judge step, seconds"),
};

const cooldown = z
  .number()
  .min(0)
  .max(MAX_SECONDS)
  .describe("Pause after settling, before the load, seconds");
const runner = z.string().trim().min(1).describe("Name of a runner of machine.yaml");
const resetCommand = z
  .string()
  .trim()
  .describe('One of the reset commands that machine.yaml allows, run without a shell; "" = none');

/** With every default. `runner` and `reset_command` have none: the machine's runners say them. */
export const jobSettingsSchema = z.strictObject({
  runner: runner.optional(),
  reset_command: resetCommand.optional(),
  settle: z
    .strictObject({
      timeout_s: settleFields.timeout_s.default(120),
      plateau_polls: settleFields.plateau_polls.default(3),
      poll_interval_s: settleFields.poll_interval_s.default(2),
      epsilon_mb: settleFields.epsilon_mb.default(200),
    })
    .prefault({}),
  step_timeout_s: z
    .strictObject({
      load: stepTimeoutFields.load.default(3600),
      eval: stepTimeoutFields.eval.default(14_400),
      judge: stepTimeoutFields.judge.default(21_600),
    })
    .prefault({}),
  idle_timeout_s: z
    .strictObject({
      eval: idleTimeoutFields.eval.default(1800),
      judge: idleTimeoutFields.judge.default(1800),
    })
    .prefault({}),
  cooldown_s: cooldown.default(0),
});

/** Only what was written: no key is filled in. Its `shape` can be spread into an entry's schema. */
export const partialJobSettingsSchema = z.strictObject({
  runner: runner.optional(),
  reset_command: resetCommand.optional(),
  settle: z.strictObject(settleFields).partial().optional(),
  step_timeout_s: z.strictObject(stepTimeoutFields).partial().optional(),
  idle_timeout_s: z.strictObject(idleTimeoutFields).partial().optional(),
  cooldown_s: cooldown.optional(),
});

export type JobSettings = z.output<typeof jobSettingsSchema>;
export type PartialJobSettings = z.output<typeof partialJobSettingsSchema>;

/** Bounds of the above. machine.yaml sets them; touchstoned.yaml may only make them tighter. */
export const jobLimitsSchema = z.strictObject({
  step_timeout_s: z
    .strictObject({
      load: stepTimeoutFields.load.default(14_400),
      eval: stepTimeoutFields.eval.default(172_800),
      judge: stepTimeoutFields.judge.default(172_800),
    })
    .prefault({})
    .describe("Largest step_timeout_s that a queue file may ask for"),
  idle_timeout_s: z
    .strictObject({
      eval: idleTimeoutFields.eval.default(7200),
      judge: idleTimeoutFields.judge.default(7200),
    })
    .prefault({})
    .describe("Largest idle_timeout_s that a queue file may ask for"),
  min_free_disk_mb: z
    .number()
    .min(0)
    .default(1024)
    .describe("No step starts with less free space where runs are kept"),
});

export const partialJobLimitsSchema = z.strictObject({
  step_timeout_s: z.strictObject(stepTimeoutFields).partial().optional(),
  idle_timeout_s: z.strictObject(idleTimeoutFields).partial().optional(),
  min_free_disk_mb: z.number().min(0).optional(),
});

export type JobLimits = z.output<typeof jobLimitsSchema>;
export type PartialJobLimits = z.output<typeof partialJobLimitsSchema>;

type Tree = { [key: string]: unknown };

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mergeTrees(low: Tree, high: Tree): Tree {
  const merged: Tree = { ...low };
  for (const [key, value] of Object.entries(high)) {
    if (value === undefined) continue;
    const below = merged[key];
    merged[key] = isTree(below) && isTree(value) ? mergeTrees(below, value) : value;
  }
  return merged;
}

/** One setting that a file asks for and a limit forbids. */
export interface OverLimit {
  /** `["step_timeout_s", "eval"]` */
  path: [group: "step_timeout_s" | "idle_timeout_s", step: string];
  value: number;
  limit: number;
}

const LIMITED = ["step_timeout_s", "idle_timeout_s"] as const;

/** Every setting of `settings` that is above its limit; empty where all are allowed. */
export function overLimit(settings: PartialJobSettings, limits: JobLimits): OverLimit[] {
  const found: OverLimit[] = [];
  for (const group of LIMITED) {
    const bounds: Record<string, number> = limits[group];
    for (const [step, value] of Object.entries(settings[group] ?? {})) {
      const limit = bounds[step];
      if (limit !== undefined && value !== undefined && value > limit) {
        found.push({ path: [group, step], value, limit });
      }
    }
  }
  return found;
}

/**
 * The settings of one job: built-in defaults, then each layer over the one before it, key by key
 * (`[policy defaults, file defaults, entry]`). A key that no layer has, and whose built-in default
 * is above a limit, takes the limit: a person who tightens a bound means the defaults too. What a
 * layer does say is not clamped; `overLimit` finds it, and it is an error.
 */
export function mergeJobSettings(
  layers: readonly PartialJobSettings[],
  limits?: JobLimits,
): JobSettings {
  const base = jobSettingsSchema.parse({});
  if (limits !== undefined) {
    for (const { path, limit } of overLimit(base, limits)) {
      const group: Record<string, number> = base[path[0]];
      group[path[1]] = limit;
    }
  }
  return jobSettingsSchema.parse(layers.reduce<Tree>(mergeTrees, base));
}

/** Ways to unload that come with the runners; MODEL stands for one word. Always allowed. */
export const RUNNER_RESET_COMMANDS: readonly string[] = ["lms unload --all", "ollama stop MODEL"];

/** True where `command` is one of `allowed`; the empty command (none) always is. */
export function resetCommandAllowed(command: string, allowed: readonly string[]): boolean {
  const split = splitCommand(command);
  return split.ok && (split.words.length === 0 || commandAllowed(split.words, allowed));
}
