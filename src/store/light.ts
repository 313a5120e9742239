import type { JobState } from "../queue/light.ts";
import { statusDatabase } from "./sqlite/open-light.ts";
import { readBlocked, readCounts } from "./sqlite/queries.ts";
import type { Able, Blocked } from "./store.ts";

export type { Blocked } from "./store.ts";

/** Figures of the store for `status`. */
export interface StoreFigures {
  counts: Record<JobState, number>;
  blocked: Blocked;
  /** Names of the inbox's files that were taken up and not put away yet. */
  in_inbox: string[];
}

const UNPLACED = "SELECT file_name FROM submissions WHERE placed_at_ms IS NULL";

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
    const rows = db.all<{ file_name: string }>(UNPLACED);
    return {
      counts: readCounts(db),
      blocked: readBlocked(db, now_ms, can),
      in_inbox: rows.map(({ file_name }) => file_name),
    };
  } finally {
    db.close();
  }
}
