import { join, resolve } from "node:path";
import { fileTime } from "../../core/clock.ts";
import { inputError, usageError } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { ulidSource } from "../../core/ids.ts";
import { slug } from "../../core/text.ts";
import type { ModelSpec } from "../../core/model-spec.ts";
import {
  bundlePaths,
  chooseModel,
  comparableUrl,
  endpointWarning,
  loadEvalConfig,
  loadPack,
  parseEvalConfig,
  readManifest,
  readResponses,
  runEval,
  summarise,
  type EvalConfig,
  type EvalOutcome,
  type LoadedPack,
  type Manifest,
} from "../../eval/index.ts";
import { modelIdOf, openRunner, type RunnerSettings } from "../../runners/index.ts";
import { resolveRunner, type MachineSettings } from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { progressView, summaryTable } from "../eval-view.ts";
import { openWorkplace, takeModelLock, type Workplace } from "../measuring.ts";

interface EvalCommandOptions {
  model?: string;
  pack?: string;
  runner?: string;
  config?: string;
  runDir?: string;
  resume?: string;
  out?: string;
  lockWait: string;
  station?: string;
  json?: boolean;
}

/** Everything that is asked for, read and checked before anything is locked or started. */
interface Plan {
  workplace: Workplace;
  config: EvalConfig;
  settings: RunnerSettings;
  pack: LoadedPack;
  model: ModelSpec;
  bundle_dir: string;
  resume: boolean;
}

function readConfig(options: EvalCommandOptions, context: CommandContext): EvalConfig {
  if (options.config === undefined) return parseEvalConfig("", "defaults").config;
  const { config, warnings } = loadEvalConfig(resolve(context.cwd, options.config));
  for (const warning of warnings) context.terminal.err(`warning: ${warning}`);
  return config;
}

/** The runner that is named, else the one that the bundle or the config's old `endpoint` means. */
function runnerName(
  options: EvalCommandOptions,
  machine: MachineSettings,
  config: EvalConfig,
  manifest: Manifest | undefined,
): string | undefined {
  if (options.runner !== undefined) return options.runner;
  if (manifest !== undefined) return manifest.runner.name;
  const base = config.endpoint?.base_url;
  if (base === undefined) return undefined;
  const wanted = comparableUrl(base);
  return machine.runners.find(
    ({ url }) => url !== undefined && comparableUrl(new URL(url).origin) === wanted,
  )?.name;
}

function modelOf(
  options: EvalCommandOptions,
  config: EvalConfig,
  settings: RunnerSettings,
  manifest: Manifest | undefined,
): ModelSpec {
  if (options.model !== undefined) return chooseModel(config, options.model);
  if (manifest !== undefined) return manifest.model;
  // A runner that we start ourselves serves one model, so there is nothing to choose.
  const own = config.models.length === 0 ? settings.start : null;
  return chooseModel(config, own === null ? undefined : modelIdOf(own.model_file));
}

function resumedManifest(dir: string): Manifest {
  const manifest = readManifest(dir);
  if (manifest !== undefined) return manifest;
  throw inputError(
    `${dir}: there is no manifest.json, so there is nothing to go on with`,
    "Name the directory of a bundle, or start one with --run-dir.",
    "no_manifest",
  );
}

async function makePlan(options: EvalCommandOptions, context: CommandContext): Promise<Plan> {
  const { cwd, clock, terminal } = context;
  const wheres = [options.runDir, options.resume, options.out].filter((dir) => dir !== undefined);
  if (wheres.length > 1) throw usageError("give one of --run-dir, --resume and --out");
  const resumed = options.resume === undefined ? undefined : resolve(cwd, options.resume);
  const manifest = resumed === undefined ? undefined : resumedManifest(resumed);
  const config = readConfig(options, context);
  const workplace = await openWorkplace(options.station, context);
  const name = runnerName(options, workplace.machine, config, manifest);
  const settings = resolveRunner(workplace.machine, name);
  const warning = endpointWarning(config, settings.url);
  if (warning !== null) terminal.err(`warning: ${warning}`);
  const model = modelOf(options, config, settings, manifest);
  if (options.pack === undefined && resumed === undefined) {
    throw usageError("--pack is missing", "Example: --pack packs/basics.yaml");
  }
  const pack = loadPack(
    options.pack === undefined && resumed !== undefined
      ? bundlePaths(resumed).pack
      : resolve(cwd, options.pack ?? ""),
  );
  const fresh = () => {
    const dir = options.out === undefined ? workplace.runs_dir : resolve(cwd, options.out);
    const what = `${slug(pack.pack.id)}_${slug(model.id)}`;
    return join(dir, `${fileTime(clock.now_ms())}_eval_${what}`);
  };
  const named = options.runDir === undefined ? undefined : resolve(cwd, options.runDir);
  const bundle_dir = resumed ?? named ?? fresh();
  return { workplace, config, settings, pack, model, bundle_dir, resume: resumed !== undefined };
}

/** Under the lock: opens the runner, runs, closes it again whatever happened. */
async function measure(plan: Plan, context: CommandContext): Promise<EvalOutcome> {
  const { clock, signal, env, terminal } = context;
  const new_id = ulidSource(clock);
  ensureDir(plan.bundle_dir);
  const opened = await openRunner(plan.settings, {
    clock,
    new_id,
    signal,
    env,
    work_dir: plan.bundle_dir,
  });
  try {
    return await runEval({
      bundle_dir: plan.bundle_dir,
      model: plan.model,
      pack: plan.pack,
      config: plan.config,
      runner: opened.runner,
      phase: "all",
      resume: plan.resume,
      clock,
      new_id,
      signal,
      min_free_disk_mb: plan.workplace.min_free_disk_mb,
      onProgress: progressView(terminal),
    });
  } finally {
    terminal.status("");
    await opened.close();
  }
}

function report(plan: Plan, outcome: EvalOutcome, json: boolean, context: CommandContext): void {
  const { terminal } = context;
  const { bundle_dir } = plan;
  const summaries = summarise(readResponses(bundle_dir));
  if (outcome.error !== null) terminal.err(`${terminal.style("red", "error:")} ${outcome.error}`);
  if (outcome.exit_code !== 0) {
    terminal.err(`go on with: touchstoned eval --resume ${bundle_dir}`);
  }
  if (json) {
    terminal.json({ bundle_dir, ...outcome, summaries });
    return;
  }
  if (summaries.length > 0) terminal.out(summaryTable(summaries));
  terminal.out(`bundle: ${bundle_dir}`);
}

export const run: CommandAction<EvalCommandOptions> = async (options, context) => {
  const plan = await makePlan(options, context);
  const lock = await takeModelLock(
    plan.workplace.machine,
    { wait: options.lockWait, purpose: "eval", run_id: ulidSource(context.clock)() },
    context,
  );
  try {
    const outcome = await measure(plan, context);
    report(plan, outcome, options.json === true, context);
    return outcome.exit_code;
  } finally {
    lock.release();
  }
};
