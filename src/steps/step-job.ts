import { z } from "zod";
import { modelSpecSchema } from "../core/model-spec.ts";
import type { RunnerSettings } from "../runners/index.ts";

/** A runner that is there already, as a step's child gets it; the key travels by another way. */
const attachedRunnerSchema = z.strictObject({
  name: z.string(),
  kind: z.enum(["llama-server", "ollama", "openai", "embedded"]),
  url: z.string(),
  declared_slots: z.int().nullable(),
});

/** The file that `touchstoned _step KIND --job FILE` reads. All paths are absolute. */
export const stepJobSchema = z.strictObject({
  schema_version: z.literal(1),
  kind: z.enum(["load", "eval", "judge"]),
  bundle_dir: z.string(),
  model: modelSpecSchema,
  pack: z.string(),
  config: z.string().nullable(),
  judge_config: z.string().nullable(),
  judge_model: z.string().nullable(),
  runner: attachedRunnerSchema,
  /** Hard limit of the step, seconds; the load itself must know it. */
  limit_s: z.number().positive(),
  min_free_disk_mb: z.number().min(0),
  /** What the step does when its parent is gone; it holds the model lock all the while. */
  when_orphaned: z.enum(["end", "continue"]).default("end"),
});

export type StepJob = z.output<typeof stepJobSchema>;
export type StepKind = StepJob["kind"];

/** First line of a step's standard input. Not in the job file: files are read by more people. */
export const stepSecretsSchema = z.object({ api_key: z.string().nullable() });

/** Settings for a child: the runner is there, whoever started it. */
export function attachedRunner(settings: RunnerSettings, url: string): StepJob["runner"] {
  const { name, kind, declared_slots } = settings;
  return { name, kind, url, declared_slots };
}

export function runnerSettingsOf(job: StepJob, api_key: string | null): RunnerSettings {
  return { ...job.runner, api_key, start: null };
}
