import { EXIT, usageError } from "../../core/errors.ts";
import { installEmbedded } from "../../runners/index.ts";
import type { CommandAction } from "../context.ts";

export const run: CommandAction<{ kind: string; json?: boolean }> = async (options, context) => {
  if (options.kind !== "embedded") {
    throw usageError(
      `"${options.kind}" cannot be installed by this program`,
      "only: touchstoned runner install embedded",
    );
  }
  const { terminal, env, signal } = context;
  const report = await installEmbedded({ env, signal, say: (line) => terminal.err(line) });
  if (options.json === true) terminal.json(report);
  return EXIT.done;
};
