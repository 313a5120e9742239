import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import { noteHold, wakeDaemon } from "../../daemon/index.ts";
import type { Job } from "../../queue/index.ts";
import { QUEUE, type Store } from "../../store/index.ts";
import type { CommandAction } from "../context.ts";
import { findJob, findJobsOfFile, withStore, type StationOptions } from "../queue-store.ts";

export interface QueueChangeOptions extends StationOptions {
  /** Set by the declaration. */
  change: "cancel" | "retry" | "hold" | "release";
  ids: string[];
  /** Name of a queue file: all of its jobs. */
  file?: string;
}

const SAID = {
  cancel: "is cancelled",
  retry: "will be tried again",
  hold: "is held",
  release: "is released",
} as const;

interface Changed {
  target: string;
  job: Job | null;
}

interface Outcome {
  changed: Changed[];
  /** Why the others are as they were. */
  refused: TouchstonedError[];
}

/** All names are understood before the first job is changed. */
async function targets({ ids, file, change }: QueueChangeOptions, store: Store): Promise<string[]> {
  if (ids.length > 0 && file !== undefined) throw usageError("give ids or --file, not both");
  const found = new Set<string>();
  for (const id of ids) found.add((await findJob(store, id)).id);
  const ofFile = file === undefined ? [] : await findJobsOfFile(store, file, change);
  for (const job of ofFile) found.add(job.id);
  if (found.size > 0) return [...found];
  if (change === "hold" || change === "release") return [QUEUE];
  throw usageError(`which job to ${change}?`, "Give ids, or --file NAME for all jobs of a file.");
}

async function changeAll(
  options: QueueChangeOptions,
  store: Store,
  now_ms: number,
): Promise<Outcome> {
  const outcome: Outcome = { changed: [], refused: [] };
  for (const target of await targets(options, store)) {
    const result = await store[options.change](target, now_ms);
    if (result.ok) {
      const job = target === QUEUE ? null : ((await store.job(target)) ?? null);
      outcome.changed.push({ target, job });
      continue;
    }
    const { code, reason: message } = result;
    outcome.refused.push(new TouchstonedError({ code, exitCode: EXIT.failed, message }));
  }
  return outcome;
}

export const run: CommandAction<QueueChangeOptions> = async (options, context) =>
  withStore(options, context, async (store, { files }) => {
    const { terminal, clock } = context;
    const { changed, refused } = await changeAll(options, store, clock.now_ms());
    const { change } = options;
    if (changed.some(({ target }) => target === QUEUE)) noteHold(files, change === "hold");
    wakeDaemon(files);
    const [first, ...others] = refused;
    // One job, and it may not be changed: that is the answer, and an error like any other.
    if (changed.length === 0 && first !== undefined && others.length === 0) throw first;
    if (options.json === true) {
      const more = refused.length === 0 ? {} : { refused: refused.map(({ message }) => message) };
      const single = changed.length === 1 && refused.length === 0 ? changed[0] : { changed };
      terminal.json({ change, ...single, ...more });
    } else {
      for (const { target } of changed) {
        terminal.out(`${target === QUEUE ? "the queue" : `job ${target}`} ${SAID[change]}`);
      }
      for (const { message } of refused) terminal.err(message);
    }
    return refused.length === 0 ? EXIT.done : EXIT.failed;
  });
