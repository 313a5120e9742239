import { EXIT } from "../../core/errors.ts";
import { loadMachineSettings, lockStatus, resolveLockPath } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export const run: CommandAction<{ json?: boolean }> = async ({ json }, { terminal, env }) => {
  const place = resolveLockPath(env, loadMachineSettings(env));
  const status = await lockStatus(place.path);
  if (json === true) {
    terminal.json({ ...status, source: place.source, why: place.why });
    return EXIT.done;
  }
  terminal.out(`${place.path}: ${status.text}`);
  terminal.out(`this file, because ${place.why}`);
  return EXIT.done;
};
