import { jobLimitsSchema } from "../../core/job-settings.ts";
import { packageFile } from "../../core/program.ts";
import { runParseMain, type ParseRequest, type SubmissionPlan } from "../../intake/index.ts";
import type { QueueContext } from "../../queue/index.ts";
import { machineSchema } from "../../station/index.ts";
import { planSubmission, realLoaders, takeUp } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";

function planWith(
  {
    id,
    path,
    created_ms,
    station,
  }: Pick<ParseRequest, "id" | "path" | "created_ms"> & {
    station: Parameters<typeof realLoaders>[0];
  },
  bytes: Buffer,
  context: Omit<QueueContext, "look">,
): SubmissionPlan {
  // Nobody watches at night: a model that is not the one described is not measured under its name.
  const loaders = realLoaders(station, { strict_cache: true });
  const taken = takeUp(path, bytes, context, loaders);
  return planSubmission({ id, path, taken, context, loaders, created_ms });
}

function plan(request: ParseRequest, bytes: Buffer): SubmissionPlan {
  const { settings } = request.station;
  return planWith(request, bytes, {
    policy_defaults: settings.defaults,
    limits: settings.limits,
    runner_names: settings.runner_names,
    allowed_reset_commands: settings.allowed_reset_commands,
  });
}

/** A file of ours, parsed for nothing: what Node compiles at its first use is compiled then. */
const REHEARSAL = `entries:
  - model: { id: rehearsal, quant: none }
    pack: packs/plumbing.yaml
    step_timeout_s: { eval: 60 }
`;

function rehearse(): void {
  const machine = machineSchema.parse({
    runners: [{ name: "rehearsal", kind: "openai", url: "http://127.0.0.1:9" }],
  });
  const station = { root: packageFile("."), machine };
  const request = { id: "rehearsal", path: "rehearsal.yaml", created_ms: 0, station };
  planWith(request, Buffer.from(REHEARSAL), {
    policy_defaults: {},
    limits: jobLimitsSchema.parse({}),
    runner_names: ["rehearsal"],
    allowed_reset_commands: [],
  });
}

export const run: CommandAction<object> = async () =>
  runParseMain({ input: process.stdin, output: process.stdout, plan, rehearse });
