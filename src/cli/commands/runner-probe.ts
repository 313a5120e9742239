import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import {
  connectRunner,
  missingPart,
  RUNNER_KINDS,
  type RunnerSettings,
  type RunnerStatus,
  type ServedModel,
} from "../../runners/index.ts";
import { loadMachineSettings, resolveRunner } from "../../station/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";

interface Options {
  name?: string;
  url?: string;
  kind?: string;
  limit: string;
  json?: boolean;
}

function undeclared(url: string, kindName: string | undefined): RunnerSettings {
  const kind = RUNNER_KINDS.find((known) => known === kindName);
  if (kind === undefined) {
    throw usageError(`--url needs --kind: ${RUNNER_KINDS.join(", ")}`);
  }
  return { name: url, kind, url, api_key: null, start: null, declared_slots: null };
}

function settingsOf(options: Options, { env }: CommandContext): RunnerSettings {
  if (options.url === undefined) return resolveRunner(loadMachineSettings(env), options.name);
  if (options.name !== undefined) throw usageError("give a name or --url, not both");
  return undeclared(options.url, options.kind);
}

function modelLine(model: ServedModel): string {
  const parts = [
    model.id,
    model.quantization,
    model.size_bytes === null ? null : `${(model.size_bytes / 1e6).toFixed(0)} MB`,
    model.context_length === null ? null : `${model.context_length} tokens of context`,
    model.loaded === null ? null : model.loaded ? "loaded" : "not loaded",
  ];
  return parts.filter((part) => part !== null).join("  ");
}

function show(status: RunnerStatus, { terminal }: CommandContext): void {
  terminal.out(`version  ${status.version ?? "not told"}`);
  const source = status.slots_source === "declared" ? " (declared in machine.yaml)" : "";
  terminal.out(`slots    ${status.slots === null ? "not told" : `${status.slots}${source}`}`);
  for (const model of status.models ?? []) terminal.out(`model    ${modelLine(model)}`);
}

function exitCodeOf(status: RunnerStatus): ExitCode {
  if (!status.reachable) return EXIT.unavailable;
  return status.loading ? EXIT.busy : EXIT.done;
}

/** A runner of our own does not run now: said is whether it could be started. */
function reportStartable(
  settings: RunnerSettings,
  json: boolean,
  context: CommandContext,
): ExitCode {
  const missing = missingPart(settings, context.env);
  const { name, kind } = settings;
  if (json)
    context.terminal.json({ name, kind, url: null, startable: missing === null, reason: missing });
  else if (missing === null) context.terminal.out(`${name} (${kind}) is started when it is needed`);
  if (missing !== null) context.terminal.err(`${name} (${kind}) cannot be started: ${missing}`);
  return missing === null ? EXIT.done : EXIT.unavailable;
}

export const run: CommandAction<Options> = async (options, context) => {
  const limit_s = Number(options.limit);
  if (!(limit_s > 0)) throw usageError(`--limit must be a number of seconds, not ${options.limit}`);
  const settings = settingsOf(options, context);
  const json = options.json === true;
  if (settings.url === null && settings.start !== null) {
    return reportStartable(settings, json, context);
  }
  const runner = connectRunner(settings, { clock: context.clock });
  const status = await runner.status(limit_s);
  const { name, kind, url } = settings;
  if (json) {
    context.terminal.json({ name, kind, url, residency: runner.residency, ...status });
    return exitCodeOf(status);
  }
  if (!status.reachable) context.terminal.err(`${name} (${kind}) is not there: ${status.reason}`);
  else if (status.loading) context.terminal.err(`${name} (${kind}) is still loading its model`);
  else show(status, context);
  return exitCodeOf(status);
};
