import { EXIT } from "../../core/errors.ts";
import { runDaemon } from "../../daemon/index.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface DaemonCommandOptions {
  station?: string;
  json?: boolean;
}

export const run: CommandAction<DaemonCommandOptions> = async (options, context) => {
  const { terminal, clock, env, cwd } = context;
  const station = await openStation({ explicit: options.station, env, cwd });
  const stamp = (): string => new Date(clock.now_ms()).toISOString();
  await runDaemon({
    station,
    clock,
    env,
    onSignals({ stop, rescan }) {
      context.takeSignals((signal) => (signal === "SIGHUP" ? rescan() : stop()));
      // One that came while things were being opened.
      if (context.signal.aborted) stop();
    },
    say(text) {
      if (options.json === true) terminal.out(JSON.stringify({ at: stamp(), text }));
      else terminal.err(text);
    },
  });
  return EXIT.done;
};
