import { EXIT } from "../../core/errors.ts";
import { noteHold, wakeDaemon } from "../../daemon/index.ts";
import { QUEUE } from "../../store/index.ts";
import type { CommandAction } from "../context.ts";
import { withStore, type StationOptions } from "../queue-store.ts";

export interface QueueDrainOptions extends StationOptions {
  /** False with `--no-wait`. */
  wait: boolean;
}

const LOOK_MS = 500;

export const run: CommandAction<QueueDrainOptions> = async (options, context) =>
  withStore(options, context, async (store, { files }) => {
    const { terminal, clock, signal } = context;
    await store.hold(QUEUE, clock.now_ms());
    noteHold(files, true);
    wakeDaemon(files);
    const running = async () => store.jobs({ states: ["CLAIMED", "IN_PROGRESS"], limit: 1 });
    let [job] = await running();
    if (job !== undefined && options.wait) {
      terminal.err(`waiting for job ${job.id} (${job.entry.model.id}) to end`);
      while (job !== undefined && !signal.aborted) {
        await clock.sleep(LOOK_MS, signal);
        [job] = await running();
      }
    }
    const drained = job === undefined;
    if (options.json === true) terminal.json({ drained, running: job?.id ?? null });
    else {
      const until = "nothing is claimed until `touchstoned queue release`";
      terminal.out(drained ? `drained: ${until}` : `job ${job?.id ?? ""} still runs; ${until}`);
    }
    return drained || !options.wait ? EXIT.done : EXIT.busy;
  });
