import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { checkQueue } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";
import { queueSetting, type QueueOptions } from "../queue-options.ts";

export interface QueueCheckOptions extends QueueOptions {
  file: string;
}

export const run: CommandAction<QueueCheckOptions> = async (options, context) => {
  const { terminal, cwd } = context;
  const { keep_awake: _, ...setting } = await queueSetting(options, context);
  const report = await checkQueue({
    ...setting,
    file: resolve(cwd, options.file),
    onStep: (text) => (terminal.interactive ? terminal.status(text) : terminal.err(text)),
  });
  terminal.status("");
  if (options.json === true) terminal.json(report);
  else {
    terminal.out(readFileSync(join(report.directory, "check.md"), "utf8").trimEnd());
    terminal.err(`report: ${join(report.directory, "check.md")}`);
  }
  return report.exit_code;
};
