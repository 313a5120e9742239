import { EXIT, usageError } from "../../core/errors.ts";
import { serveEmbedded } from "../../runners/index.ts";
import type { CommandAction } from "../context.ts";

interface Options {
  moduleDir: string;
  model: string;
  port: string;
  slots: string;
  context: string;
  threads?: string;
}

function count(text: string, option: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw usageError(`${option} must be a whole number above 0, not "${text}"`);
}

export const run: CommandAction<Options> = async (options, context) => {
  await serveEmbedded(
    {
      module_dir: options.moduleDir,
      model_file: options.model,
      port: count(options.port, "--port"),
      slots: count(options.slots, "--slots"),
      slot_context: count(options.context, "--context"),
      threads: options.threads === undefined ? null : count(options.threads, "--threads"),
    },
    context.clock,
    context.signal,
  );
  return EXIT.done;
};
