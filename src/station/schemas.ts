import { isAbsolute } from "node:path";
import { z } from "zod";
import {
  jobLimitsSchema,
  partialJobLimitsSchema,
  partialJobSettingsSchema,
} from "../core/job-settings.ts";

const version = z
  .literal(1, { error: "this program knows schema_version 1 only" })
  .default(1)
  .describe("Version of this file's format");

const absolutePath = z
  .string()
  .refine((path) => isAbsolute(path) && !path.includes("\0"), {
    error: "must be an absolute path (~ and variables are not expanded)",
  })
  .describe("Absolute path");

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

/** What `start` gives a server itself; a second value would make us wait at the wrong door. */
const OUR_ARGUMENTS = new Set(
  "--host --port -m --model -a --alias -np --parallel -c --ctx-size".split(" "),
);

const startSchema = z.strictObject({
  binary: z
    .string()
    .min(1)
    .refine((name) => isAbsolute(name) || !name.includes("/"), {
      error: "must be an absolute path, or a bare name that is looked up in PATH",
    })
    .default("llama-server")
    .describe("Program to start; the embedded runner brings its own"),
  model_file: absolutePath.describe("GGUF file"),
  args: z
    .array(z.string())
    .default([])
    .superRefine((args, issue) => {
      for (const [index, argument] of args.entries()) {
        const name = argument.split("=", 1)[0] ?? "";
        if (!OUR_ARGUMENTS.has(name)) continue;
        const message = `${name} is set by touchstoned (its own port; model_file, slots and context_length have keys of their own)`;
        issue.addIssue({ code: "custom", message, path: [index] });
      }
    })
    .describe("Further arguments"),
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
  })
  .superRefine(({ kind, url, start }, issue) => {
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
  });

/** machine.yaml: everything that runs or reaches out, and who may use it. */
export const machineSchema = z.strictObject({
  schema_version: version,
  trusted_stations: z
    .array(absolutePath)
    .default([])
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
