import type { Clock } from "../../../core/clock.ts";
import { errorMessage, TouchstonedError } from "../../../core/errors.ts";
import {
  connectRunner,
  missingPart,
  type RunnerSettings,
  type RunnerStatus,
} from "../../../runners/index.ts";
import { resolveRunner, type Env, type MachineSettings } from "../../../station/index.ts";
import { counted, failure, ok, warning, type Line } from "../line.ts";

export interface RunnersInput {
  machine: MachineSettings;
  machine_path: string;
  /** Names that policy or defaults go by; where there is one runner only, that one. */
  needed: readonly string[];
  /** The model that `slots allowed` is asked for, and its runner. */
  model: { runner: string; id: string } | null;
  /** Those that a calibration stopped which is not at work any more. */
  stopped: readonly string[];
  env: Env;
  clock: Clock;
  home: string;
}

/** A person waits. */
const LIMIT_S = 5;
const MODELS_SHOWN = 4;

const START: Readonly<Record<RunnerSettings["kind"], string>> = {
  ollama: "Start it: ollama serve (macOS: open the app)",
  "llama-server": "Start llama-server",
  openai: "Start the server",
  embedded: "Start it",
};

/** Trouble with a runner: one that nothing goes by may be a machine that is off at night. */
function trouble(text: string, todo: string, needed: boolean): Line {
  return needed ? failure(text, todo) : warning(text, todo);
}

function served({ models, slots, version }: RunnerStatus): string {
  const names = (models ?? []).map(({ id }) => id);
  const more = names.length > MODELS_SHOWN ? `, and ${names.length - MODELS_SHOWN} more` : "";
  const parts = [
    version,
    slots === null ? null : counted(slots, "slot"),
    names.length === 0 ? "it names no model" : `${names.slice(0, MODELS_SHOWN).join(", ")}${more}`,
  ];
  return parts.filter((part) => part !== null).join("; ");
}

function modelLine(input: RunnersInput, name: string, status: RunnerStatus): Line | null {
  const { model } = input;
  if (model?.runner !== name || status.models === null) return null;
  // Ollama takes a name without a tag for the latest.
  const wanted = new Set([model.id, `${model.id}:latest`]);
  if (status.models.some(({ id }) => wanted.has(id))) return null;
  return warning(
    `runner ${name} does not serve ${model.id}, which local_models.model of touchstoned.yaml names`,
    "Correct the name, or let the runner have the model.",
  );
}

/** Without the address in front, which stands before it anyway. */
function plainReason(reason: string | null): string {
  return reason?.replace(/^https?:\S+: /, "") ?? "no reason given";
}

/** The calibration cannot start it again any more: it was killed. */
function stoppedLines(name: string, { stopped, machine }: RunnersInput): Line[] {
  if (!stopped.includes(name)) return [];
  const command = machine.runners.find((runner) => runner.name === name)?.start_command;
  const start = command === undefined ? "Start it" : `Start it: ${command}`;
  return [
    warning(
      `runner ${name} was stopped for a calibration that was killed, and nothing has started it again`,
      `${start}. The next calibration does it, too: touchstoned slots calibrate --runner ${name}`,
    ),
  ];
}

async function askedLines(
  settings: RunnerSettings,
  needed: boolean,
  input: RunnersInput,
): Promise<Line[]> {
  const { name, kind, url } = settings;
  const runner = connectRunner(settings, { clock: input.clock });
  const status = await runner.status(LIMIT_S);
  if (!status.reachable) {
    return [
      trouble(
        `runner ${name} (${kind}, ${url ?? ""}) does not answer: ${plainReason(status.reason)}`,
        `${START[kind]}, or correct its url in ${input.machine_path}. Then: touchstoned runner probe ${name}`,
        needed,
      ),
      ...stoppedLines(name, input),
    ];
  }
  if (status.loading) return [ok(`runner ${name} (${kind}) is loading its model`)];
  const model = modelLine(input, name, status);
  const line = ok(`runner ${name} (${kind}): ${served(status)}`);
  return model === null ? [line] : [line, model];
}

async function runnerLines(name: string, input: RunnersInput): Promise<Line[]> {
  const { machine, env, home, needed } = input;
  const counts = needed.includes(name);
  let settings: RunnerSettings;
  try {
    settings = resolveRunner(machine, name, home);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return [
      trouble(errorMessage(error), error.hint ?? `Correct it in ${input.machine_path}.`, counts),
    ];
  }
  if (settings.url !== null || settings.start === null) return askedLines(settings, counts, input);
  const missing = missingPart(settings, env);
  if (missing === null)
    return [ok(`runner ${name} (${settings.kind}) is started when it is needed`)];
  const [what = missing, install] = missing.split(": ");
  return [
    trouble(
      `runner ${name} (${settings.kind}) cannot be started: ${what}`,
      install ?? `Put it there, or correct ${input.machine_path}.`,
      counts,
    ),
  ];
}

/** What the declared runners serve, or why they do not. All are asked at once. */
export async function runnersLines(input: RunnersInput): Promise<Line[]> {
  const { machine, machine_path } = input;
  if (machine.runners.length === 0) {
    return [
      failure(
        `${machine_path} declares no runner: no job can run here`,
        "Add yours to it, for example: runners: [{name: ollama, kind: ollama, url: http://127.0.0.1:11434}]",
      ),
    ];
  }
  const found = await Promise.all(
    machine.runners.map(async ({ name }) => runnerLines(name, input)),
  );
  return found.flat();
}
