import { jsonLine } from "../../core/json.ts";
import { calibrateUnattended } from "../../daemon/index.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface UnattendedCommandOptions {
  station: string;
  runner: string;
  model: string;
}

export const run: CommandAction<UnattendedCommandOptions> = async (options, context) => {
  const { env, cwd, clock, signal, terminal } = context;
  const station = await openStation({ explicit: options.station, env, cwd });
  return calibrateUnattended({
    station,
    runner: options.runner,
    model: options.model,
    env,
    clock,
    signal,
    input: process.stdin,
    tell: (line) => terminal.out(jsonLine({ ...line }).trimEnd()),
  });
};
