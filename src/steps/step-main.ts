import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { configError, EXIT, TouchstonedError, type ExitCode } from "../core/errors.ts";
import { ulidSource } from "../core/ids.ts";
import { judgeModel, loadEvalConfig, loadJudgeConfig, loadPack } from "../eval/index.ts";
import { runEval, runJudge } from "../eval/index.ts";
import { connectRunner } from "../runners/index.ts";
import { inheritedModelLock } from "../station/index.ts";
import { watchParent } from "./parent-watch.ts";
import { runnerSettingsOf, stepJobSchema, type StepJob } from "./step-job.ts";

export interface StepMainOptions {
  kind: string;
  job_path: string;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** Standard input: a line with the secrets, then nothing until the parent is gone. */
  input: Readable;
}

/** Known trouble of a step, so that its last words in the log have the one form of an error. */
function failed(exitCode: ExitCode, message: string, hint?: string): TouchstonedError {
  return new TouchstonedError({
    code: "step_failed",
    exitCode,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** What to do about a load that failed, by the class of its fault. */
const LOAD_HINTS: Partial<Record<string, string>> = {
  model_not_found: "Write a name that the runner serves (`touchstoned runner probe` lists them).",
  unreachable: "Start the runner, or correct its url in machine.yaml.",
  connect_timeout: "See whether the runner still answers; restart it.",
  loading: "It was still loading at its limit: raise request_limits.load_s of the eval config.",
};

interface StepDeps {
  clock: Clock;
  api_key: string | null;
  signal: AbortSignal;
}

async function evalStep(job: StepJob, { clock, api_key, signal }: StepDeps): Promise<ExitCode> {
  const outcome = await runEval({
    bundle_dir: job.bundle_dir,
    model: job.model,
    pack: loadPack(job.pack),
    config: job.config === null ? null : loadEvalConfig(job.config).config,
    runner: connectRunner(runnerSettingsOf(job, api_key), { clock }),
    phase: job.kind === "load" ? "load" : "cells",
    // The load has begun the bundle: what is there is gone on with, and checked to be the same.
    resume: true,
    clock,
    new_id: ulidSource(clock),
    signal,
    min_free_disk_mb: job.min_free_disk_mb,
  });
  if (outcome.exit_code !== EXIT.done) {
    const hint = LOAD_HINTS[outcome.load?.fault_class ?? ""];
    throw failed(outcome.exit_code, outcome.error ?? "it did not end well", hint);
  }
  return EXIT.done;
}

async function judgeStep(job: StepJob, { clock, api_key, signal }: StepDeps): Promise<ExitCode> {
  if (job.judge_config === null) throw configError("a judge step without a judge config");
  const { config } = loadJudgeConfig(job.judge_config);
  const outcome = await runJudge({
    bundle_dir: job.bundle_dir,
    config,
    model: judgeModel(config, job.judge_model ?? undefined),
    runner: connectRunner(runnerSettingsOf(job, api_key), { clock }),
    clock,
    new_id: ulidSource(clock),
    signal,
  });
  if (outcome.exit_code !== EXIT.done) {
    throw failed(outcome.exit_code, outcome.reason ?? "it did not end well");
  }
  return EXIT.done;
}

/**
 * Body of a step's child. Refuses to run without the inherited model lock, and ends itself, whole
 * tree, when the parent is gone. Throws where the step did not end well.
 */
export async function runStepMain(options: StepMainOptions): Promise<ExitCode> {
  const lock = inheritedModelLock(options.env);
  if (lock === undefined) {
    throw configError(
      "a step needs the model lock of the run that starts it",
      "Use `touchstoned queue run`, or `touchstoned eval` by itself.",
      "no_lock",
    );
  }
  const job = stepJobSchema.parse(JSON.parse(readFileSync(options.job_path, "utf8")));
  if (job.kind !== options.kind) {
    throw configError(`${options.job_path} is the job of a ${job.kind} step`);
  }
  const parent = watchParent(options.input, options.clock, job.when_orphaned);
  const { api_key } = await parent.secrets;
  const signal = AbortSignal.any([options.signal, parent.signal]);
  const deps = { clock: options.clock, api_key, signal };
  return job.kind === "judge" ? judgeStep(job, deps) : evalStep(job, deps);
}
