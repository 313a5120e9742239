import { join } from "node:path";
import type { Store } from "../../src/store/index.ts";
import { jobsOf, submissionOf } from "./store-fixtures.ts";

const JOBS_A_FILE = 100;

/**
 * Puts so many jobs that nobody has begun into a store, a hundred a submission. Their directories
 * under `base` are not made: they are for what only looks at the store.
 */
export async function fillWaiting(store: Store, count: number, base: string): Promise<void> {
  const accepted_at_ms = Date.now();
  for (let from = 0; from < count; from += JOBS_A_FILE) {
    const id = `W${String(from).padStart(25, "0")}`;
    const entries = Array.from({ length: Math.min(JOBS_A_FILE, count - from) }, () => ({}));
    const directory = join(base, id);
    const detail = { file_key: id, directory, warnings: [] };
    await store.accept(submissionOf(id, { accepted_at_ms, detail }), jobsOf(id, entries));
  }
}
