import { jsonLine } from "../../core/json.ts";
import { EXIT } from "../../core/errors.ts";
import { modelMemoryMb } from "../../daemon/index.ts";
import type { OpenedStation } from "../../daemon/resident.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

/** What the daemon knows of its station: it asks a child, and need not load what reads YAML. */
export const run: CommandAction<{ station?: string }> = async (options, context) => {
  const { env, cwd, terminal, clock } = context;
  const station = await openStation({ explicit: options.station, env, cwd });
  const memory_mb = await modelMemoryMb(station, clock);
  const opened: OpenedStation = { station, memory_mb };
  terminal.out(jsonLine({ ...opened }).trimEnd());
  return EXIT.done;
};
