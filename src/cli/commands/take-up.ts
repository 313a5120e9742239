import { runParseMain, type ParseRequest, type SubmissionPlan } from "../../intake/index.ts";
import { planSubmission, realLoaders, takeUp } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";

function plan(request: ParseRequest, bytes: Buffer): SubmissionPlan {
  const { id, path, created_ms, station } = request;
  const { settings } = station;
  const context = {
    policy_defaults: settings.defaults,
    limits: settings.limits,
    runner_names: settings.runner_names,
    allowed_reset_commands: settings.allowed_reset_commands,
  };
  // Nobody watches at night: a model that is not the one described is not measured under its name.
  const loaders = realLoaders(station, { strict_cache: true });
  const taken = takeUp(path, bytes, context, loaders);
  return planSubmission({ id, path, taken, context, loaders, created_ms });
}

export const run: CommandAction<object> = async () =>
  runParseMain({ input: process.stdin, output: process.stdout, plan });
