import { z } from "zod";
import { inputError } from "../core/errors.ts";
import { sha256Hex, type JsonValue } from "../core/json.ts";
import { checkShape, findingsError, parseText, type Finding } from "../core/yaml.ts";
import { comparableUrl } from "./config.ts";
import { readInputFile } from "./input-file.ts";

/**
 * Output limits where the config says `max_tokens: null`. A judge that does not stop would burn
 * the whole call limit on each answer; a verdict needs some hundred tokens, a report more.
 */
export const VERDICT_TOKENS = 2048;
export const REPORT_TOKENS = 4096;

/** The judge config file. Every key has its default here and nowhere else. */
export const judgeConfigSchema = z.strictObject({
  runner: z.string().min(1).optional().describe("Name of a runner of machine.yaml"),
  endpoint: z
    .strictObject({
      base_url: z.string().min(1).optional(),
      api_key: z.unknown().optional(),
      api_key_file: z.unknown().optional(),
    })
    .optional()
    .describe("touchstone's form: base_url picks the declared runner with that URL"),
  model: z.string().trim().min(1).optional().describe("The judge's name at its runner"),
  temperature: z.number().min(0).default(0),
  seed: z.int().nullable().default(42).describe("null = none is sent"),
  call_timeout_s: z.number().positive().default(300).describe("Longest time for one call"),
  max_consecutive_failures: z
    .int()
    .min(0)
    .default(3)
    .describe("So many failed calls in a row end the judging; 0 = never"),
  max_tokens: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe(
      `Output limit of a call; null = ${VERDICT_TOKENS} a verdict, ${REPORT_TOKENS} a report`,
    ),
  suppress_thinking: z
    .boolean()
    .default(true)
    .describe("Asks the server not to think first; some remote services refuse these hints"),
  extra_body: z
    .record(z.string(), z.json())
    .transform((value) => value as Record<string, JsonValue>)
    .default({})
    .describe("Merged into the body of each request, such as response_format"),
});

export type JudgeConfig = z.output<typeof judgeConfigSchema>;

export interface LoadedJudgeConfig {
  config: JudgeConfig;
  sha256: string;
}

/** touchstone writes this where there is no key; it gives nothing away. */
const NO_KEY = new Set<unknown>(["", "not-needed", null, undefined]);

/** Parses a judge config. Throws an input error that lists everything that is wrong. */
export function parseJudgeConfig(text: string, file: string): LoadedJudgeConfig {
  const read = parseText(text, file);
  const parsed = { ...read, value: read.value ?? {} };
  const checked = checkShape(parsed, judgeConfigSchema);
  if (!checked.ok) throw findingsError(file, checked.findings, "bad_judge_config");
  const findings: Finding[] = (["api_key", "api_key_file"] as const)
    .filter((key) => !NO_KEY.has(checked.value.endpoint?.[key]))
    .map((key) => ({
      message: "secrets and the paths to them do not belong into a judge config",
      path: `endpoint.${key}`,
      position: parsed.position(["endpoint", key], "key"),
      hint: "Set api_key_file at the runner in machine.yaml and take this key out.",
    }));
  if (findings.length > 0) throw findingsError(file, findings, "secret_in_config");
  return { config: checked.value, sha256: sha256Hex(text) };
}

/** Reads and parses a judge config file. Throws an input error (exit 64). */
export function loadJudgeConfig(path: string): LoadedJudgeConfig {
  return parseJudgeConfig(readInputFile(path, "judge config"), path);
}

/**
 * Name of the runner that judges: `asked` (the command line), else the config's `runner`, else the
 * declared runner whose URL is the config's `endpoint.base_url`; undefined where nothing says.
 * Throws an input error where base_url is nobody's: requests only go where machine.yaml says.
 */
export function judgeRunnerName(
  config: JudgeConfig,
  asked: string | undefined,
  declared: readonly { name: string; url: string | null }[],
): string | undefined {
  const named = asked ?? config.runner;
  const base = config.endpoint?.base_url;
  if (named !== undefined || base === undefined) return named;
  const match = declared.find(
    ({ url }) => url !== null && comparableUrl(url) === comparableUrl(base),
  );
  if (match !== undefined) return match.name;
  const known = declared.map(({ name, url }) => `${name} (${url ?? "started here"})`).join(", ");
  throw inputError(
    `endpoint.base_url ${JSON.stringify(base)} is not the URL of a declared runner`,
    `Declare it in machine.yaml, or write "runner: NAME" instead. Declared: ${known || "none"}.`,
    "unknown_endpoint",
  );
}

/** The model that judges: the command line's, else the config's. Throws where neither names one. */
export function judgeModel(config: JudgeConfig, asked: string | undefined): string {
  const model = asked === undefined || asked.trim() === "" ? config.model : asked.trim();
  if (model !== undefined) return model;
  throw inputError(
    "no judge model is named",
    'Write "model: NAME" into the judge config, or give --judge-model NAME.',
    "no_judge_model",
  );
}
