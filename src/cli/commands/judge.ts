import { resolve } from "node:path";
import { ulidSource } from "../../core/ids.ts";
import {
  judgeModel,
  judgeRunnerName,
  loadJudgeConfig,
  readJudged,
  readWholeBundle,
  runJudge,
  type JudgeConfig,
  type JudgeOutcome,
} from "../../eval/index.ts";
import { modelIdOf, openRunner, type RunnerSettings } from "../../runners/index.ts";
import { resolveRunner } from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { judgeProgressView, qualityTable } from "../judge-view.ts";
import { openWorkplace, takeModelLock, type Workplace } from "../measuring.ts";

interface JudgeCommandOptions {
  bundle: string;
  judgeConfig: string;
  judgeModel?: string;
  runner?: string;
  lockWait: string;
  station?: string;
  json?: boolean;
}

/** Everything that is asked for, read and checked before anything is locked or started. */
interface Plan {
  workplace: Workplace;
  bundle_dir: string;
  config: JudgeConfig;
  settings: RunnerSettings;
  model: string;
}

async function makePlan(options: JudgeCommandOptions, context: CommandContext): Promise<Plan> {
  const { cwd } = context;
  const bundle_dir = resolve(cwd, options.bundle);
  readWholeBundle(bundle_dir);
  const { config } = loadJudgeConfig(resolve(cwd, options.judgeConfig));
  const workplace = await openWorkplace(options.station, context);
  const declared = workplace.machine.runners.map(({ name, url }) => ({ name, url: url ?? null }));
  const name = judgeRunnerName(config, options.runner, declared);
  const settings = resolveRunner(workplace.machine, name);
  // A runner that we start ourselves serves one model, so there is nothing to choose.
  const own = settings.start === null ? undefined : modelIdOf(settings.start.model_file);
  const model = judgeModel(config, options.judgeModel ?? config.model ?? own);
  return { workplace, bundle_dir, config, settings, model };
}

/** Under the lock: opens the runner, judges, closes it again whatever happened. */
async function judgeUnderLock(plan: Plan, context: CommandContext): Promise<JudgeOutcome> {
  const { clock, signal, env, terminal } = context;
  const { bundle_dir, config, model } = plan;
  const new_id = ulidSource(clock);
  const deps = { clock, new_id, signal, env, work_dir: bundle_dir };
  const opened = await openRunner(plan.settings, deps);
  try {
    return await runJudge({
      bundle_dir,
      config,
      model,
      runner: opened.runner,
      clock,
      new_id,
      signal,
      onProgress: judgeProgressView(terminal),
    });
  } finally {
    terminal.status("");
    await opened.close();
  }
}

function report(plan: Plan, outcome: JudgeOutcome, json: boolean, context: CommandContext): void {
  const { terminal } = context;
  const { bundle_dir } = plan;
  for (const note of outcome.notes) terminal.err(`note: ${note}`);
  if (outcome.reason !== null) {
    terminal.err(`${terminal.style("red", "error:")} ${outcome.reason}`);
    terminal.err("go on with the same command; what is decided is kept");
  }
  const { groups } = readJudged(bundle_dir);
  if (json) {
    const short = groups.map(({ model, variant, quality }) => ({ model, variant, quality }));
    terminal.json({ bundle_dir, ...outcome, groups: short });
    return;
  }
  if (outcome.judge !== null) terminal.out(qualityTable(groups));
  terminal.out(`scorecard: ${resolve(bundle_dir, "scorecard.md")}`);
}

export const run: CommandAction<JudgeCommandOptions> = async (options, context) => {
  const plan = await makePlan(options, context);
  const lock = await takeModelLock(
    plan.workplace.machine,
    { wait: options.lockWait, purpose: "judge", run_id: ulidSource(context.clock)() },
    context,
  );
  try {
    const outcome = await judgeUnderLock(plan, context);
    report(plan, outcome, options.json === true, context);
    return outcome.exit_code;
  } finally {
    lock.release();
  }
};
