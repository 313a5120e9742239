import type { JobState } from "../queue/light.ts";
import { statusDatabase } from "./sqlite/open-light.ts";
import { readBlocked, readCounts } from "./sqlite/queries.ts";
import type { Able, Blocked } from "./store.ts";

export type { Blocked } from "./store.ts";

/** Figures of the store for `status`. */
export interface StoreFigures {
  counts: Record<JobState, number>;
  blocked: Blocked;
}

/**
 * Looks into the store without changing or making anything. Undefined where there is none; throws
 * as `openSqliteStore` does where it cannot be read.
 */
export async function readFigures(
  path: string,
  now_ms: number,
  can: Able,
): Promise<StoreFigures | undefined> {
  const db = await statusDatabase(path);
  if (db === undefined) return undefined;
  try {
    return { counts: readCounts(db), blocked: readBlocked(db, now_ms, can) };
  } finally {
    db.close();
  }
}
