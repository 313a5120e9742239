import type { CommandAction } from "../context.ts";
import { control } from "../service-control.ts";
import type { WhichOptions } from "../service-view.ts";

export const run: CommandAction<WhichOptions & { now?: boolean }> = (options, context) =>
  control("stop", options, context);
