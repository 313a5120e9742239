import { basename } from "node:path";
import { inputError, TouchstonedError } from "../core/errors.ts";
import { isAlive } from "../core/process-table.ts";
import { openSetting, readSnapshot, wakeDaemon, type Setting } from "../daemon/index.ts";
import { isEnded, type Job } from "../queue/index.ts";
import { openStation } from "../station/index.ts";
import { openSqliteStore, type Store } from "../store/index.ts";
import type { CommandContext } from "./context.ts";

export interface StationOptions {
  station?: string;
  json?: boolean;
}

/** The station of a command that looks at the queue or changes it. */
export async function commandSetting(
  options: StationOptions,
  context: CommandContext,
): Promise<Setting> {
  const { env, cwd, clock } = context;
  return openSetting(await openStation({ explicit: options.station, env, cwd }), clock, env);
}

async function openBeside({ files }: Setting, now_ms: number) {
  try {
    return await openSqliteStore({ path: files.store, now_ms, role: "guest" });
  } catch (error) {
    if (!(error instanceof TouchstonedError) || error.code !== "store_missing") throw error;
    const daemon = readSnapshot(files.snapshot)?.process;
    if (daemon === undefined || !isAlive(daemon)) throw error;
    wakeDaemon(files);
    throw new TouchstonedError({
      code: error.code,
      exitCode: error.exitCode,
      message: `${error.message}: the daemon that runs (pid ${daemon.pid}) has lost it`,
      hint: "It ends by itself. Start it again: it makes a new one from the files.",
    });
  }
}

/** Opens the store beside the daemon. */
export async function withStore<T>(
  options: StationOptions,
  context: CommandContext,
  work: (store: Store, setting: Setting) => Promise<T>,
): Promise<T> {
  const setting = await commandSetting(options, context);
  const now_ms = context.clock.now_ms();
  const { store } = await openBeside(setting, now_ms);
  try {
    return await work(store, setting);
  } finally {
    await store.close();
  }
}

/** Memory that a model can have here, MB, as the last daemon found it; null where it is not known. */
export function memoryHere({ files }: Setting): number | null {
  return readSnapshot(files.snapshot)?.memory_mb ?? null;
}

/** Shortest end of an id that may stand for it. */
const LEAST_TAIL = 4;

/** The job that `text` names: its id, or the end of it where only one has that. */
export async function findJob(store: Store, text: string): Promise<Job> {
  const wanted = text.toUpperCase();
  const exact = await store.job(wanted);
  if (exact !== undefined) return exact;
  const found =
    wanted.length < LEAST_TAIL ? [] : (await store.jobs()).filter(({ id }) => id.endsWith(wanted));
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) return only;
  if (only === undefined && wanted.length < LEAST_TAIL) {
    throw inputError(
      `"${text}" is too short to name a job`,
      `Give the whole id, or at least its last ${LEAST_TAIL} letters.`,
      "no_such_job",
    );
  }
  if (only === undefined) {
    throw inputError(
      `there is no job "${text}"`,
      "`touchstoned queue list --all` shows them; the last few letters of an id are enough.",
      "no_such_job",
    );
  }
  const ids = found.map(({ id }) => id).join(", ");
  throw inputError(`"${text}" can be ${ids}`, "Give more letters.", "ambiguous_job");
}

/**
 * The jobs of a queue file that are meant by a change: those that have not ended, for a retry those
 * that failed; all of its last taking-up, where there are none. `text` is its name in the inbox.
 */
export async function findJobsOfFile(store: Store, text: string, change: string): Promise<Job[]> {
  const name = basename(text);
  const all = (await store.submissions()).filter(({ file_name }) => file_name === name);
  const [last] = all.slice(-1);
  if (last === undefined) {
    throw inputError(
      `no file "${name}" was taken up`,
      "`touchstoned queue show ID` says of which file a job is.",
      "no_such_file",
    );
  }
  const meant = (job: Job) => (change === "retry" ? job.state === "FAILED" : !isEnded(job));
  const jobs: Job[] = [];
  for (const { id } of all) jobs.push(...(await store.jobsOf(id)).filter((job) => meant(job)));
  return jobs.length > 0 ? jobs : store.jobsOf(last.id);
}
