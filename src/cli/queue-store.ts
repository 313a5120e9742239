import { inputError } from "../core/errors.ts";
import { openSetting, readSnapshot, type Setting } from "../daemon/index.ts";
import type { Job } from "../queue/index.ts";
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

/** Opens the store beside the daemon. */
export async function withStore<T>(
  options: StationOptions,
  context: CommandContext,
  work: (store: Store, setting: Setting) => Promise<T>,
): Promise<T> {
  const setting = await commandSetting(options, context);
  const { files } = setting;
  const now_ms = context.clock.now_ms();
  const { store } = await openSqliteStore({ path: files.store, now_ms, role: "guest" });
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
