import { z } from "zod";
import {
  jobLimitsSchema,
  partialJobLimitsSchema,
  partialJobSettingsSchema,
} from "../core/job-settings.ts";
import {
  absolutePath,
  calibrationFaults,
  calibrationFields,
  programName,
  serverArguments,
} from "./calibration-schema.ts";
import { EVIDENCE_MAX_AGE_DAYS, MAX_SLOTS, SLOT_BOUNDS } from "../core/slot-bounds.ts";
import { cronPattern, queueSchema, scheduleSchema } from "./queue-schema.ts";

const version = z
  .literal(1, { error: "this program knows schema_version 1 only" })
  .default(1)
  .describe("Version of this file's format");

const keepAwake = z
  .enum(["while_running", "never"])
  .describe("Whether the machine is kept from sleeping while a step runs");

/** When a file that was dropped into the inbox is at rest. */
export const inboxSchema = z
  .strictObject({
    min_age_seconds: z
      .number()
      .min(0)
      .max(86_400)
      .default(30)
      .describe("How long a file must rest unchanged before it is taken up"),
  })
  .describe("How files in inbox/ are taken up");

/** A bound that a repository may lower, never raise. */
function tighter(most: number, about: string) {
  const error = `must be above 0 and at most ${most}: a repository may only tighten it`;
  return z.number({ error }).positive({ error }).max(most, { error }).default(most).describe(about);
}

export const localModelsSchema = z
  .strictObject({
    concurrent_runs: z
      .union([z.int().positive().max(64), z.literal("measured")], {
        error: 'must be a whole number from 1 to 64, or "measured"',
      })
      .default(1)
      .describe(
        'Requests at once: 1, a ceiling that must be measured, or "measured" for what the evidence says',
      ),
    runner: z.string().optional().describe("Runner of machine.yaml; the only one where left out"),
    model: z.string().optional().describe("Model as the runner calls it"),
  })
  .describe("How many requests scripts may send at once");

export const slotsSchema = z
  .strictObject({
    max_slots: z.int().positive().max(64).default(MAX_SLOTS).describe("A sweep tries no more"),
    bounds: z
      .strictObject({
        memory_ceiling: tighter(
          SLOT_BOUNDS.memory_ceiling,
          "Share of the memory of host, control group and each GPU",
        ),
        swap_growth: tighter(SLOT_BOUNDS.swap_growth, "Swap-out against that at one slot, times"),
        swap_floor_mb_per_min: tighter(
          SLOT_BOUNDS.swap_floor_mb_per_min,
          "Swap-out that is always allowed, MB a minute",
        ),
        pressure_stall_share: tighter(
          SLOT_BOUNDS.pressure_stall_share,
          "Share of the time that tasks stand still for want of memory",
        ),
      })
      .prefault({})
      .describe("What more than one slot must keep; may only be lowered"),
  })
  .describe("How slots are measured");

export const evidenceSchema = z
  .strictObject({
    commit: z
      .enum(["branch", "ref", "off"])
      .default("branch")
      .describe("Where evidence is committed: the current branch, a branch of its own, nowhere"),
    max_age_days: tighter(EVIDENCE_MAX_AGE_DAYS, "Older evidence is stale, days"),
    renew_before_days: z
      .number()
      .min(0)
      .max(EVIDENCE_MAX_AGE_DAYS)
      .default(5)
      .describe("So long before it is stale a new measurement is asked for, days; 0: never"),
    keep_files: z
      .int()
      .positive()
      .optional()
      .describe("The daemon leaves so many of each model in the work tree; all where left out"),
  })
  .describe("What becomes of measurements");

/** When the daemon measures slots by itself. */
export const idleCalibrationSchema = z
  .strictObject({
    by_itself: z
      .boolean()
      .default(true)
      .describe("Whether the daemon measures by itself what was asked for, while nothing waits"),
    window: cronPattern
      .optional()
      .describe("Minutes in which it may, as a cron pattern (* 0-6 * * *); any where left out"),
    max_load: z
      .number()
      .positive()
      .default(0.3)
      .describe("Mean load of a minute for each processor, up to which the device counts as idle"),
    max_pressure: z
      .number()
      .min(0)
      .max(1)
      .default(0.05)
      .describe("Share of the time that tasks wait for memory, up to which it counts as idle"),
    power: z
      .enum(["ac", "any"])
      .default("ac")
      .describe("ac: never on battery; any: on battery, too"),
    budget_minutes: z
      .number()
      .positive()
      .optional()
      .describe("At most so long in a day, then on from there; no limit where left out"),
    max_tokens: z.int().positive().default(512).describe("Longest answer, tokens"),
  })
  .describe("When the daemon measures slots by itself");

/** touchstoned.yaml: what a repository may say. It names nothing that runs or reaches out. */
export const policySchema = z.strictObject({
  schema_version: version,
  defaults: partialJobSettingsSchema
    .default({})
    .describe("For every queue file of this station that does not say otherwise"),
  limits: partialJobLimitsSchema
    .default({})
    .describe("Tighter bounds than machine.yaml's; looser ones are an error"),
  power: z.strictObject({ keep_awake: keepAwake.optional() }).default({}),
  inbox: inboxSchema.prefault({}),
  queue: queueSchema.prefault({}),
  schedule: scheduleSchema.default([]),
  local_models: localModelsSchema.prefault({}),
  slots: slotsSchema.prefault({}),
  evidence: evidenceSchema.prefault({}),
  calibration: idleCalibrationSchema.prefault({}),
});

/** Scheme, host and port: each runner adds its own paths. */
const baseUrl = z.string().superRefine((text, issue) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const say = (message: string): void => {
    issue.addIssue({ code: "custom", message });
  };
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    say("must be a URL like http://127.0.0.1:8080");
  } else if (url.username !== "" || url.password !== "") {
    say("must not hold a name or password; use api_key_file");
  } else if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    say(`must end after the port (${url.origin}); the runner's own paths are added to it`);
  }
});

const startSchema = z.strictObject({
  binary: programName
    .default("llama-server")
    .describe("Program to start; the embedded runner brings its own"),
  model_file: absolutePath.describe("GGUF file"),
  args: serverArguments.default([]),
  context_length: z.int().positive().default(4096).describe("Tokens of context for each slot"),
  slots: z.int().positive().default(1),
});

const runnerSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
        error: "must be letters, digits, dots, dashes and underscores, at most 64",
      })
      .describe("How queue files name it"),
    kind: z.enum(["llama-server", "ollama", "openai", "embedded"]),
    url: baseUrl.optional().describe("Base URL of a server that is there already"),
    api_key_file: absolutePath.optional().describe("File that holds nothing but the key"),
    declared_slots: z
      .int()
      .positive()
      .optional()
      .describe("Slots, where the runner cannot be asked"),
    start: startSchema.optional().describe("How to start a server of our own"),
    ...calibrationFields,
  })
  .superRefine((runner, issue) => {
    const { kind, url, start } = runner;
    const say = (message: string, path: string[] = []): void => {
      issue.addIssue({ code: "custom", message, path });
    };
    const startable = kind === "llama-server" || kind === "embedded";
    if (start !== undefined && !startable) {
      say(`a runner of kind ${kind} is not started by this program; give its url`, ["start"]);
    } else if (kind === "embedded" && start === undefined) {
      say("an embedded runner needs start with a model_file");
    } else if ((url === undefined) === (start === undefined)) {
      say(startable ? "needs either url or start" : "needs url");
    }
    for (const [message, path] of calibrationFaults(runner)) say(message, path);
  });

/** machine.yaml: everything that runs or reaches out, and who may use it. */
export const machineSchema = z.strictObject({
  schema_version: version,
  // Where the last entry was taken out, YAML reads the bare key as null.
  trusted_stations: z
    .array(absolutePath)
    .nullable()
    .default([])
    .transform((stations) => stations ?? [])
    .describe("Stations whose queue files may run here; `touchstoned init` adds its own"),
  runners: z
    .array(runnerSchema)
    .default([])
    .superRefine((runners, issue) => {
      for (const [index, { name }] of runners.entries()) {
        if (runners.findIndex((other) => other.name === name) === index) continue;
        issue.addIssue({
          code: "custom",
          message: `another runner is called "${name}", too`,
          path: [index, "name"],
        });
      }
    })
    .describe("The model runners of this machine"),
  reset_commands: z
    .array(z.string().trim().min(1))
    .default([])
    .describe("Commands that queue files may name as reset_command, beside the runners' own"),
  lock_path: absolutePath.optional().describe("The model lock; the same for all users"),
  runs_dir: absolutePath.optional().describe("Where runs go, one directory a station"),
  model_dirs: z.array(absolutePath).default([]).describe("Where model files may lie"),
  model_memory_mb: z
    .int()
    .positive()
    .optional()
    .describe("Memory that a model may take, MB; else all of the host and of its accelerators"),
  limits: jobLimitsSchema.prefault({}).describe("Bounds for every station of this machine"),
  slots: z
    .strictObject({
      text_answers: z
        .enum(["same", "any"])
        .default("same")
        .describe(
          "Answers in words under load: the same as those at one slot, or any of the same kind",
        ),
    })
    .prefault({})
    .describe("What counts as the same answer when slots are measured"),
  power: z
    .strictObject({ keep_awake: keepAwake.optional() })
    .default({})
    .describe("Goes before what a station says"),
});

/** What holds where neither file says anything about power. */
export const powerSchema = z.strictObject({ keep_awake: keepAwake.default("while_running") });

export type Policy = z.output<typeof policySchema>;
export type MachineSettings = z.output<typeof machineSchema>;
export type RunnerDeclaration = z.output<typeof runnerSchema>;
