import { jsonLine } from "../../core/json.ts";
import { EXIT } from "../../core/errors.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

/** What the daemon knows of its station: it asks a child, and need not load what reads YAML. */
export const run: CommandAction<{ station?: string }> = async (options, context) => {
  const { env, cwd, terminal } = context;
  terminal.out(jsonLine(await openStation({ explicit: options.station, env, cwd })).trimEnd());
  return EXIT.done;
};
