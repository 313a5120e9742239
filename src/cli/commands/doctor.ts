import { EXIT } from "../../core/errors.ts";
import { doctorText, runDoctor } from "../../daemon/index.ts";
import type { CommandAction } from "../context.ts";

export interface DoctorCommandOptions {
  station?: string;
  json?: boolean;
}

export const run: CommandAction<DoctorCommandOptions> = async (options, context) => {
  const { env, cwd, clock, terminal } = context;
  const report = await runDoctor({ explicit: options.station, env, cwd, clock });
  if (options.json === true) terminal.json(report);
  else terminal.out(doctorText(report));
  return report.ok ? EXIT.done : EXIT.failed;
};
