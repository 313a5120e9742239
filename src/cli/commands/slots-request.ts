import { EXIT, usageError } from "../../core/errors.ts";
import { askAgain, requestCalibration, requestKey, requestPath } from "../../evidence/light.ts";
import { calibrationModel, stateFiles, wakeDaemon } from "../../daemon/index.ts";
import { openStation, resolveRunner } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface SlotsRequestOptions {
  station?: string;
  runner?: string;
  model?: string;
  reason?: string;
  json?: boolean;
}

const LONGEST_REASON = 500;

export const run: CommandAction<SlotsRequestOptions> = async (options, context) => {
  const { terminal, env, cwd, clock } = context;
  const station = await openStation({ explicit: options.station, env, cwd });
  const { local_models, defaults } = station.settings;
  const wanted = options.runner ?? local_models.runner ?? defaults.runner;
  const runner = resolveRunner(station.machine, wanted);
  // A server of ours serves its own file, whatever its model is called elsewhere.
  const model =
    calibrationModel(station.machine, runner.name) ?? options.model ?? local_models.model;
  if (model === undefined) {
    throw usageError(
      "which model is to be measured?",
      "Say it with --model, or local_models.model in touchstoned.yaml.",
    );
  }
  const reason = (options.reason ?? "asked for by a person").slice(0, LONGEST_REASON);
  const key = requestKey(runner.kind, model);
  const path = requestPath(station.state_dir, key);
  const request = { key, runner: runner.name, model, reason };
  const made = requestCalibration(station.state_dir, request, clock.now_ms());
  // A person who asks again does not want to hear how it went last time.
  if (!made) askAgain(station.state_dir, key, clock.now_ms());
  wakeDaemon(stateFiles(station.state_dir));
  if (options.json === true) {
    terminal.json({ path, new: made, ...request });
    return EXIT.done;
  }
  const what = `${model} with runner ${runner.name}`;
  terminal.out(made ? `asked for: ${what}` : `already asked for: ${what}`);
  terminal.err(
    `${path}; the daemon measures it in idle hours, \`touchstoned slots calibrate --if-requested\` now`,
  );
  return EXIT.done;
};
