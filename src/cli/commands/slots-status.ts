import { EXIT } from "../../core/errors.ts";
import { slotsStatus, slotsStatusText } from "../../daemon/index.ts";
import { loadMachineSettings, resolveLockPath } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import { answerWorld, askAllowed } from "../slots-answer.ts";

export interface SlotsStatusOptions {
  station?: string;
  runner?: string;
  model?: string;
  json?: boolean;
}

export const run: CommandAction<SlotsStatusOptions> = async (options, context) => {
  const { terminal, env } = context;
  const { root, state_dir, now_ms, rebuild } = answerWorld(options.station, context);
  const snapshot = await rebuild(null);
  const status = await slotsStatus({
    root,
    state_dir,
    lock_path: resolveLockPath(env, loadMachineSettings(env)).path,
    now_ms,
    snapshot,
    answer: await askAllowed(options, context),
  });
  if (options.json === true) terminal.json(status);
  else terminal.out(slotsStatusText(status));
  return EXIT.done;
};
