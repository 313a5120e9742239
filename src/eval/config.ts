import { z } from "zod";
import { inputError } from "../core/errors.ts";
import { sha256Hex } from "../core/json.ts";
import { modelSpecSchema, type ModelSpec } from "../core/model-spec.ts";
import { checkShape, findingsError, parseText, type Finding } from "../core/yaml.ts";
import { readInputFile } from "./input-file.ts";

/** Keys of touchstone's config that belong to its latency benchmark or to machine.yaml. */
const WITHOUT_MEANING = [
  "runs_per_cell",
  "seed",
  "temperature",
  "context_buckets",
  "scenarios",
  "max_tokens",
  "server_process_match",
  "machine",
  "engine",
  "engine_version",
  "output_dir",
  "power_check",
  "vlm",
  "embed",
] as const;

const ignored = z.unknown().describe("Accepted for touchstone's sake; no meaning here");
const seconds = z.number().positive();

const requestLimits = z.strictObject({
  connect_s: seconds.default(10).describe("Until the runner accepts the connection"),
  first_token_s: seconds
    .default(1500)
    .describe("Until the first token, prefill included; restarted by prompt progress"),
  stall_s: seconds.default(300).describe("Longest silence between two pieces of an answer"),
  total_s: seconds.nullable().default(null).describe("A whole request; null = no limit"),
  load_s: seconds.default(3600).describe("Until a model is in memory"),
});

/** The eval config file. Every key has its default here and nowhere else. */
export const evalConfigSchema = z.strictObject({
  endpoint: z
    .strictObject({
      base_url: z.string().optional(),
      api_key: z.unknown().optional(),
      api_key_file: z.unknown().optional(),
    })
    .optional()
    .describe("base_url picks the runner of machine.yaml with that URL; keys are refused here"),
  models: z
    .array(modelSpecSchema)
    .default([])
    .describe("Used where the command line names no model, or one of these"),
  ...(Object.fromEntries(WITHOUT_MEANING.map((key) => [key, ignored.optional()])) as Record<
    (typeof WITHOUT_MEANING)[number],
    z.ZodOptional<z.ZodUnknown>
  >),
  request_limits: requestLimits.prefault({}),
  breaker: z
    .strictObject({
      consecutive_failures: z
        .int()
        .min(0)
        .default(3)
        .describe("So many curable failures in a row stop the run; 0 = never"),
    })
    .prefault({}),
  order: z.enum(["fixed", "shuffled"]).default("fixed").describe("Order of the cells"),
  cold_cache: z
    .boolean()
    .default(false)
    .describe("true = no request may use the prompt cache of an earlier one"),
});

export type EvalConfig = z.output<typeof evalConfigSchema>;
export type RequestLimits = EvalConfig["request_limits"];

export interface LoadedEvalConfig {
  config: EvalConfig;
  sha256: string;
  /** What is accepted but means nothing here, a line each. */
  warnings: string[];
}

/** The settings of a run without a config file. */
export function defaultEvalConfig(): EvalConfig {
  return evalConfigSchema.parse({});
}

/** Parses an eval config. Throws an input error that lists everything that is wrong. */
export function parseEvalConfig(text: string, file: string): LoadedEvalConfig {
  const read = parseText(text, file);
  // An empty file, or one with comments only, asks for the defaults.
  const parsed = { ...read, value: read.value ?? {} };
  const checked = checkShape(parsed, evalConfigSchema);
  if (!checked.ok) throw findingsError(file, checked.findings, "bad_eval_config");
  const config = checked.value;
  const findings: Finding[] = (["api_key", "api_key_file"] as const)
    .filter((key) => config.endpoint?.[key] !== undefined)
    .map((key) => ({
      message: "secrets and the paths to them do not belong into a config",
      path: `endpoint.${key}`,
      position: parsed.position(["endpoint", key], "key"),
      hint: "Set api_key_file at the runner in machine.yaml and take this key out.",
    }));
  if (findings.length > 0) throw findingsError(file, findings, "secret_in_config");
  const warnings = WITHOUT_MEANING.filter((key) => config[key] !== undefined).map(
    (key) => `${file}: "${key}" has no meaning here and is left alone`,
  );
  return { config, sha256: sha256Hex(text), warnings };
}

/** Reads and parses an eval config file. Throws an input error (exit 64). */
export function loadEvalConfig(path: string): LoadedEvalConfig {
  return parseEvalConfig(readInputFile(path, "eval config"), path);
}

/** A base URL less what does not say where a server is: `/v1`, slashes, the name of this host. */
export function comparableUrl(url: string): string {
  try {
    const parsed = new URL(url);
    const host = parsed.hostname === "localhost" ? "127.0.0.1" : parsed.hostname;
    const path = parsed.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
    return `${parsed.protocol}//${host}:${parsed.port}${path}`;
  } catch {
    return url;
  }
}

/**
 * A warning where the config's base_url names another server than the runner that was chosen;
 * machine.yaml decides where requests go. null where it names none or the same.
 */
export function endpointWarning(config: EvalConfig, runner_url: string | null): string | null {
  const base = config.endpoint?.base_url;
  if (base === undefined) return null;
  if (runner_url !== null && comparableUrl(base) === comparableUrl(runner_url)) return null;
  return `endpoint.base_url "${base}" is not the URL of the chosen runner and is left alone; runners are declared in machine.yaml`;
}

/**
 * The model of a run. `asked` is a model id or an inline JSON object with a model spec; undefined
 * where the command line names none, and then the config must name exactly one.
 */
export function chooseModel(config: EvalConfig, asked: string | undefined): ModelSpec {
  const known = config.models.map((model) => model.id).join(", ");
  if (asked === undefined) {
    const [only, ...others] = config.models;
    if (only !== undefined && others.length === 0) return only;
    throw inputError(
      only === undefined ? "no model is named" : `the config names several models: ${known}`,
      "Say which one with --model ID.",
      "no_model",
    );
  }
  if (asked.trimStart().startsWith("{")) return parseInlineModel(asked);
  const named = config.models.filter((model) => model.id === asked);
  const [first, ...others] = named;
  if (first === undefined) return modelSpecSchema.parse({ id: asked });
  if (others.length === 0) return first;
  throw inputError(
    `the config has ${named.length} models with the id "${asked}"`,
    "Give the one you mean as JSON: --model '{\"id\": ...}'.",
    "ambiguous_model",
  );
}

function parseInlineModel(text: string): ModelSpec {
  const parsed = parseText(text, "--model");
  const checked = checkShape(parsed, modelSpecSchema);
  if (!checked.ok) throw findingsError("--model", checked.findings, "bad_model_spec");
  return checked.value;
}
