import { EXIT } from "../../core/errors.ts";
import { shellWord } from "../../core/shell-word.ts";
import { initStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface InitOptions {
  dir?: string | undefined;
  json?: boolean;
}

export const run: CommandAction<InitOptions> = async ({ dir, json }, { terminal, env, cwd }) => {
  const report = await initStation(dir, { env, cwd });
  if (json === true) {
    terminal.json(report);
    return EXIT.done;
  }
  terminal.out(`station ${report.root}`);
  for (const path of report.changed) terminal.out(`  wrote ${path}`);
  for (const path of report.kept) terminal.out(`  kept  ${path}`);
  if (report.trust_reason !== null) terminal.err(`not trusted yet: ${report.trust_reason}`);
  const where = report.root === cwd ? "" : ` --station ${shellWord(report.root)}`;
  terminal.err(
    `Next: declare a runner in ${report.machine_config}, then: touchstoned config check${where}`,
  );
  return EXIT.done;
};
