import { usageError } from "../../core/errors.ts";
import { isThisMachine, modelIdOf, type RunnerSettings } from "../../runners/index.ts";
import {
  calibrationSettings,
  resolveRunner,
  type CalibrationSettings,
  type MachineSettings,
} from "../../station/index.ts";
import { refusal } from "./refusal.ts";

export interface CalibrationPlan {
  settings: RunnerSettings;
  calibration: CalibrationSettings;
  /** `own_start`: a server of ours beside the one in production. `attached`: that one itself. */
  residency: "own_start" | "attached";
  /** Name of the model for requests. */
  model: string;
  context_per_slot: number;
  /** A production server that holds its model as long as it lives is stopped meanwhile. */
  stop_command: string | null;
  start_command: string | null;
}

export interface PlanWish {
  runner?: string | undefined;
  model?: string | undefined;
  context_per_slot?: number | undefined;
}

/** Memory that this machine cannot see says nothing about what this machine can serve. */
function refuseRemote({ name, url }: RunnerSettings): void {
  if (url === null) return;
  const { hostname } = new URL(url);
  if (isThisMachine(hostname)) return;
  throw refusal(
    "remote_runner",
    `runner "${name}" is on ${hostname}, whose memory and load cannot be seen from here: the answer stays 1`,
    "Run touchstoned on that machine.",
  );
}

function residencyOf(
  settings: RunnerSettings,
  calibration: CalibrationSettings,
): CalibrationPlan["residency"] {
  const { startable, calibrate_production } = calibration;
  if (startable) return "own_start";
  if (calibrate_production) return "attached";
  const ways =
    settings.kind === "openai"
      ? "Allow calibrate_production for it in machine.yaml: it is then measured itself, while it is idle."
      : "Say in machine.yaml how to start one to measure on (calibration: {model_file: ...}), or allow calibrate_production.";
  throw refusal(
    "not_startable",
    `runner "${settings.name}" is not started by this program, and may not be measured itself: the answer stays 1`,
    ways,
  );
}

function modelOf(
  settings: RunnerSettings,
  calibration: CalibrationSettings,
  residency: CalibrationPlan["residency"],
  wished: string | undefined,
): string {
  // A server of ours serves its file under the file's own name.
  if (residency === "own_start" && calibration.model_file !== null) {
    const own = modelIdOf(calibration.model_file);
    if (wished === undefined || wished === own) return own;
    throw usageError(
      `runner "${settings.name}" is measured with ${own}, not with "${wished}"`,
      "Leave --model out, or change model_file in machine.yaml.",
    );
  }
  if (wished !== undefined) return wished;
  throw usageError(
    "which model?",
    "Say it with --model, or local_models.model in touchstoned.yaml.",
  );
}

/**
 * How the slots of a runner are measured. Throws a refusal (exit 3) with the reason where they cannot
 * or may not be, and a usage error where it is not said which model.
 */
export function planCalibration(machine: MachineSettings, wish: PlanWish): CalibrationPlan {
  const settings = resolveRunner(machine, wish.runner);
  const calibration = calibrationSettings(machine, settings.name);
  refuseRemote(settings);
  const residency = residencyOf(settings, calibration);
  return {
    settings,
    calibration,
    residency,
    model: modelOf(settings, calibration, residency, wish.model),
    context_per_slot: wish.context_per_slot ?? calibration.context_length,
    stop_command: calibration.stop_command,
    start_command: calibration.start_command,
  };
}
