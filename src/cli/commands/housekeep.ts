import { EXIT } from "../../core/errors.ts";
import { jsonLine } from "../../core/json.ts";
import { housekeep } from "../../daemon/index.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export const run: CommandAction<{ station: string }> = async ({ station }, context) => {
  const { env, cwd, clock, terminal } = context;
  const opened = await openStation({ explicit: station, env, cwd });
  terminal.out(jsonLine({ ...(await housekeep(opened, { clock, env })) }).trimEnd());
  return EXIT.done;
};
