// `npm run demo -- --runner NAME`: a runner that the user's own machine.yaml declares.
import { basename } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { connectRunner } from "../../src/runners/index.ts";
import { loadMachineSettings, resolveRunner } from "../../src/station/index.ts";
import type { DemoTarget, RunnerLines } from "./place.ts";

export interface DeclaredRunner {
  targets: [DemoTarget, DemoTarget];
  runners: RunnerLines[];
  model_dirs: readonly string[];
}

/** Throws where there is no such runner, or where it serves no model that could be asked. */
export async function declaredTargets(
  name: string,
  asked: string | undefined,
): Promise<DeclaredRunner> {
  const machine = loadMachineSettings(process.env);
  const settings = resolveRunner(machine, name);
  const declared = machine.runners.find((runner) => runner.name === name);
  let model = asked;
  if (model === undefined && settings.start !== null) {
    model = basename(settings.start.model_file).replace(/\.gguf$/, "");
  }
  if (model === undefined) {
    const status = await connectRunner(settings, { clock: systemClock }).status();
    if (!status.reachable) throw new Error(`runner ${name} is not reachable: ${status.reason}`);
    const models = status.models ?? [];
    model = (models.find(({ loaded }) => loaded === true) ?? models[0])?.id;
  }
  if (model === undefined)
    throw new Error(`runner ${name} names no model; say one with --model ID`);
  const target = { runner: name, model };
  return { targets: [target, target], runners: [{ ...declared }], model_dirs: machine.model_dirs };
}
