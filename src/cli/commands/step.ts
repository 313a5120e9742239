import { runStepMain } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";

export interface StepOptions {
  kind: string;
  job: string;
}

export const run: CommandAction<StepOptions> = async (options, { clock, env, signal }) =>
  runStepMain({
    kind: options.kind,
    job_path: options.job,
    clock,
    env,
    signal,
    input: process.stdin,
  });
