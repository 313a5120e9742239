import type { MachineSettings } from "./schemas.ts";

/** How the slots of one runner may be measured: machine.yaml's words with their defaults. */
export interface CalibrationSettings {
  /** Whether anything says how a server of our own is started. */
  startable: boolean;
  /** null: the runner brings its own program. */
  binary: string | null;
  model_file: string | null;
  models_dir: string | null;
  args: string[];
  env: Record<string, string>;
  /** Tokens for each slot. */
  context_length: number;
  calibrate_production: boolean;
  stop_command: string | null;
  start_command: string | null;
}

const CONTEXT_LENGTH = 4096;

function defaultBinary(kind: string): string | null {
  if (kind === "embedded") return null;
  return kind === "ollama" ? "ollama" : "llama-server";
}

/**
 * What machine.yaml says about measuring the slots of the runner called `name`, which must be there.
 * A runner that is started by us is measured by its own `start`; Ollama needs no word, since its
 * program is found in PATH.
 */
export function calibrationSettings(machine: MachineSettings, name: string): CalibrationSettings {
  const runner = machine.runners.find((declared) => declared.name === name);
  if (runner === undefined) throw new Error(`no runner ${name}`);
  const { kind, start, calibration: own } = runner;
  return {
    startable: own !== undefined || start !== undefined || kind === "ollama",
    binary: kind === "embedded" ? null : (own?.binary ?? start?.binary ?? defaultBinary(kind)),
    model_file: own?.model_file ?? start?.model_file ?? null,
    models_dir: own?.models_dir ?? null,
    args: own === undefined ? [...(start?.args ?? [])] : own.args,
    env: own?.env ?? {},
    context_length: own?.context_length ?? start?.context_length ?? CONTEXT_LENGTH,
    calibrate_production: runner.calibrate_production ?? false,
    stop_command: runner.stop_command ?? null,
    start_command: runner.start_command ?? null,
  };
}
