import { EXIT } from "../../core/errors.ts";
import { checkConfig, faultText } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface ConfigCheckOptions {
  station?: string;
  json?: boolean;
}

export const run: CommandAction<ConfigCheckOptions> = async (options, { terminal, env, cwd }) => {
  const report = await checkConfig({ explicit: options.station, env, cwd });
  const ok = report.faults.length === 0;
  const exitCode = ok ? EXIT.done : EXIT.bad_config;
  if (options.json === true) {
    terminal.json({ ok, ...report });
    return exitCode;
  }
  for (const fault of report.faults) terminal.out(faultText(fault));
  for (const warning of report.warnings) terminal.err(`warning: ${warning}`);
  if (ok) terminal.out(`${report.station ?? ""} and ${report.machine_config}: nothing is wrong`);
  return exitCode;
};
