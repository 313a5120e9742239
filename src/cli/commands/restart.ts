import type { CommandAction } from "../context.ts";
import { control } from "../service-control.ts";
import type { WhichOptions } from "../service-view.ts";

export const run: CommandAction<WhichOptions> = (options, context) =>
  control("restart", options, context);
