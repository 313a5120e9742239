import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { configError } from "../core/errors.ts";
import { selfCommand } from "../core/program.ts";
import { embeddedModuleDir } from "./embedded/install.ts";
import { startServer, unavailable, type StartDeps, type StartedRunner } from "./guarded.ts";
import { modelIdOf } from "./model-id.ts";
import type { RunnerKind, RunnerSettings, RunnerStart } from "./runner.ts";

type Command = (start: RunnerStart, port: number, env: StartDeps["env"]) => string[];

/** The context of a started server is shared out evenly: each slot gets `context_length`. */
const llamaServerCommand: Command = (start, port) => [
  start.binary ?? "llama-server",
  "-m",
  start.model_file,
  "--host",
  "127.0.0.1",
  "--port",
  String(port),
  "-np",
  String(start.slots),
  "-c",
  String(start.slots * start.context_length),
  "--alias",
  modelIdOf(start.model_file),
  ...start.args,
];

const embeddedCommand: Command = (start, port, env) => [
  ...selfCommand(),
  "_embedded",
  "--module-dir",
  embeddedModuleDir(env ?? process.env),
  "--model",
  start.model_file,
  "--port",
  String(port),
  "--slots",
  String(start.slots),
  "--context",
  String(start.context_length),
  ...start.args,
];

const COMMANDS = {
  "llama-server": llamaServerCommand,
  embedded: embeddedCommand,
  ollama: null,
  openai: null,
} satisfies Record<RunnerKind, Command | null>;

function checkStart(settings: RunnerSettings): { start: RunnerStart; command: Command } {
  const { start, kind, name } = settings;
  const command = COMMANDS[kind];
  if (start === null) throw configError(`runner "${name}" has no "start" in machine.yaml`);
  if (command === null) {
    throw configError(`a runner of kind ${kind} cannot be started by this program`);
  }
  if (!isAbsolute(start.model_file)) {
    throw configError(`runner "${name}": model_file must be absolute: ${start.model_file}`);
  }
  if (!existsSync(start.model_file)) {
    throw unavailable(`runner "${name}": there is no model file ${start.model_file}`);
  }
  return { start, command };
}

/**
 * Starts a server of our own on a free port and waits until its model is loaded. The server dies
 * with us, also when we are killed. Throws `runner_not_started` (exit code 69) with the end of the
 * server's log, or bad_config where `settings.start` cannot work.
 */
export async function startRunner(
  settings: RunnerSettings,
  deps: StartDeps,
): Promise<StartedRunner> {
  const { start, command } = checkStart(settings);
  const { env, keep_env } = start;
  return startServer(
    settings,
    (port) => ({ argv: command(start, port, deps.env), env, keep_env }),
    deps,
  );
}
