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
  const loaders = realLoaders(station);
  const taken = takeUp(path, bytes, context, loaders);
  return planSubmission({ id, path, taken, context, loaders, created_ms });
}

export const run: CommandAction<object> = async () =>
  runParseMain({ input: process.stdin, output: process.stdout, plan });
