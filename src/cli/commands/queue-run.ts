import { join, resolve } from "node:path";
import { usageError } from "../../core/errors.ts";
import { keepAwake } from "../../probes/index.ts";
import { headline } from "../../queue/index.ts";
import { claimDirectory, runSubmission } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";
import { QueueDisplay } from "../queue-display.ts";
import { queueSetting, type QueueOptions } from "../queue-options.ts";

export interface QueueRunOptions extends QueueOptions {
  file?: string;
  resume?: string;
}

export const run: CommandAction<QueueRunOptions> = async (options, context) => {
  const { terminal, clock, cwd } = context;
  if (options.file === undefined && options.resume === undefined) {
    throw usageError("which queue file?", "Give FILE, or --resume DIR.");
  }
  const { keep_awake, ...setting } = await queueSetting(options, context);
  const display = new QueueDisplay(terminal, clock);
  const awake = keep_awake === "while_running" ? await keepAwake({ clock }) : null;
  try {
    const outcome = await runSubmission({
      ...setting,
      file: options.file === undefined ? null : resolve(cwd, options.file),
      resume: options.resume === undefined ? null : resolve(cwd, options.resume),
      claimDirectory: (directory) => claimDirectory(directory, clock, context.signal),
      emit: (event) => display.show(event),
    });
    terminal.status("");
    const { summary, directory } = outcome;
    if (options.json === true) terminal.json({ directory, ...summary });
    else {
      terminal.out(headline(summary));
      terminal.out(`summary: ${join(directory, "summary.md")}`);
    }
    if (summary.resume_command !== null) terminal.err(`to go on: ${summary.resume_command}`);
    return outcome.exit_code;
  } finally {
    await awake?.release();
  }
};
