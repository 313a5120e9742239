import { EXIT, TouchstonedError } from "../../core/errors.ts";
import { wakeDaemon } from "../../daemon/index.ts";
import { QUEUE, type Store } from "../../store/index.ts";
import type { CommandAction } from "../context.ts";
import { findJob, withStore, type StationOptions } from "../queue-store.ts";

export interface QueueChangeOptions extends StationOptions {
  /** Set by the declaration. */
  change: "cancel" | "retry" | "hold" | "release";
  id?: string;
}

const SAID = {
  cancel: "is cancelled",
  retry: "will be tried again",
  hold: "is held",
  release: "is released",
} as const;

async function change(options: QueueChangeOptions, store: Store, now_ms: number): Promise<string> {
  const { id, change: what } = options;
  const job = id === undefined ? undefined : await findJob(store, id);
  const target = job?.id ?? QUEUE;
  // Only `hold` and `release` may be declared without an id: that is the queue itself.
  const outcome = await store[what](target, now_ms);
  if (outcome.ok) return target;
  throw new TouchstonedError({
    code: outcome.code,
    exitCode: EXIT.failed,
    message: outcome.reason,
  });
}

export const run: CommandAction<QueueChangeOptions> = async (options, context) =>
  withStore(options, context, async (store, { files }) => {
    const { terminal, clock } = context;
    const target = await change(options, store, clock.now_ms());
    wakeDaemon(files);
    const job = target === QUEUE ? null : await store.job(target);
    if (options.json === true) terminal.json({ change: options.change, target, job });
    else
      terminal.out(`${target === QUEUE ? "the queue" : `job ${target}`} ${SAID[options.change]}`);
    return EXIT.done;
  });
