import { isAbsolute } from "node:path";
import { z } from "zod";
import { splitCommand } from "../core/command-line.ts";

export const absolutePath = z
  .string()
  .refine((path) => isAbsolute(path) && !path.includes("\0"), {
    error: "must be an absolute path (~ and variables are not expanded)",
  })
  .describe("Absolute path");

export const programName = z
  .string()
  .min(1)
  .refine((name) => isAbsolute(name) || !name.includes("/"), {
    error: "must be an absolute path, or a bare name that is looked up in PATH",
  });

/** What `start` and `calibration` give a server themselves; a second value would win or be lost. */
const OUR_ARGUMENTS = new Set(
  "--host --port -m --model -a --alias -np --parallel -c --ctx-size".split(" "),
);

export const serverArguments = z
  .array(z.string())
  .superRefine((args, issue) => {
    for (const [index, argument] of args.entries()) {
      const name = argument.split("=", 1)[0] ?? "";
      if (!OUR_ARGUMENTS.has(name)) continue;
      const message = `${name} is set by touchstoned (its own port; model_file, slots and context_length have keys of their own)`;
      issue.addIssue({ code: "custom", message, path: [index] });
    }
  })
  .describe("Further arguments");

/** Variables that a calibration sets itself; another value would measure something else. */
const OUR_VARIABLES = new Set([
  "OLLAMA_HOST",
  "OLLAMA_NUM_PARALLEL",
  "OLLAMA_NOPRUNE",
  "OLLAMA_MODELS",
  "LLAMA_ARG_HOST",
  "LLAMA_ARG_PORT",
  "LLAMA_ARG_MODEL",
  "LLAMA_ARG_ALIAS",
  "LLAMA_ARG_N_PARALLEL",
  "LLAMA_ARG_CTX_SIZE",
]);

const environment = z
  .record(
    z.string(),
    z.string().refine((value) => !value.includes("\0"), { error: "must not hold a zero byte" }),
  )
  .superRefine((variables, issue) => {
    for (const name of Object.keys(variables)) {
      const message = OUR_VARIABLES.has(name)
        ? "is set by touchstoned itself"
        : /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
          ? null
          : "is no name of a variable";
      if (message !== null) issue.addIssue({ code: "custom", message, path: [name] });
    }
  });

const commandLine = z
  .string()
  .trim()
  .min(1)
  .superRefine((text, issue) => {
    const split = splitCommand(text);
    if (!split.ok) issue.addIssue({ code: "custom", message: split.fault.message });
  });

/** How to start a runner for a calibration, beside the one in production. */
const calibrationSchema = z
  .strictObject({
    binary: programName
      .optional()
      .describe("Program to start (default: that of start, else llama-server or ollama)"),
    model_file: absolutePath
      .optional()
      .describe("GGUF file (llama-server, embedded; default: that of start)"),
    models_dir: absolutePath
      .optional()
      .describe("Where Ollama's models lie (default: where Ollama itself looks)"),
    args: serverArguments.default([]),
    context_length: z
      .int()
      .positive()
      .optional()
      .describe("Tokens of context for each slot (default: that of start, else 4096)"),
    env: environment
      .default({})
      .describe("Its environment, beside home, language and the choice of a device"),
  })
  .describe("How to start a runner of our own to measure slots on");

/** The keys of a runner that say how its slots may be measured. */
export const calibrationFields = {
  calibration: calibrationSchema.optional(),
  calibrate_production: z
    .boolean()
    .optional()
    .describe("Slots may be measured on this very server while it is idle (default: no)"),
  stop_command: commandLine
    .optional()
    .describe("Stops this server before a calibration; run without a shell"),
  start_command: commandLine.optional().describe("Starts it again afterwards; run without a shell"),
};

interface CalibrationKeys {
  kind: string;
  start?: unknown;
  calibration?: z.output<typeof calibrationSchema> | undefined;
  stop_command?: string | undefined;
  start_command?: string | undefined;
}

/** What does not go together, as (message, path) pairs. */
export function calibrationFaults(runner: CalibrationKeys): [string, string[]][] {
  const { kind, start, calibration, stop_command, start_command } = runner;
  const faults: [string, string[]][] = [];
  if ((stop_command === undefined) !== (start_command === undefined)) {
    const missing = stop_command === undefined ? "stop_command" : "start_command";
    faults.push([`needs ${missing}, too: who stops a server starts it again`, []]);
  }
  if (calibration === undefined) return faults;
  const say = (message: string, ...path: string[]) =>
    faults.push([message, ["calibration", ...path]]);
  const ollama = kind === "ollama";
  if (kind === "openai") {
    say("a runner of kind openai is not started by this program; see calibrate_production");
  } else if (ollama) {
    if (calibration.model_file !== undefined) say("Ollama goes by the model's name", "model_file");
    if (calibration.args.length > 0) say("`ollama serve` takes none; see env", "args");
  } else {
    if (calibration.models_dir !== undefined) say("is for Ollama", "models_dir");
    if (calibration.model_file === undefined && start === undefined) {
      say("needs a model_file");
    }
  }
  return faults;
}
