import { rmSync } from "node:fs";
import { join } from "node:path";
import { readCatalog, type Listed } from "./catalog.ts";
import { freshness } from "./light.ts";
import { closeRequest, openRequests } from "./requests.ts";

const DAY_MS = 86_400_000;

export interface PruneOptions {
  root: string;
  state_dir: string;
  max_age_days: number;
  /** So many of each model stay in the work tree; null: the work tree is left alone. */
  keep_files: number | null;
  now_ms: number;
  /** Only says what it would do. */
  dry_run: boolean;
}

export interface PruneReport {
  /** Keys of evidence in the state that is stale and will never be answered from again. */
  state: string[];
  /** Keys of requests that are as old as evidence may get. */
  requests: string[];
  /** Files of the work tree, relative to the station. */
  files: string[];
}

/** Of this device, committed, and with enough newer ones of the same model. */
function superseded(listed: readonly Listed[], keep: number): Listed[] {
  const models = Map.groupBy(
    listed.filter(
      ({ own, places }) => own && places.includes("work tree") && !places.includes("outbox"),
    ),
    ({ evidence }) => evidence.identity.model.id,
  );
  return [...models.values()].flatMap((entries) =>
    entries.slice(0, Math.max(0, entries.length - keep)),
  );
}

/**
 * Takes away what is of no more use: stale evidence and requests in the state, and, where asked for,
 * this device's older files in the work tree. Nothing is committed, and what is in git stays in its
 * history.
 */
export function pruneEvidence(options: PruneOptions): PruneReport {
  const { root, state_dir, max_age_days, keep_files, now_ms, dry_run } = options;
  const { listed } = readCatalog(root, state_dir);
  const stale = listed.filter(
    ({ evidence, places }) =>
      places.includes("state") &&
      !places.includes("outbox") &&
      !freshness(evidence, now_ms, max_age_days).fresh,
  );
  const requests = openRequests(state_dir).filter(
    ({ requested_at }) => now_ms - Date.parse(requested_at) > max_age_days * DAY_MS,
  );
  const old = keep_files === null ? [] : superseded(listed, keep_files);
  const files = old.flatMap(({ path }) =>
    path === null ? [] : [".json", ".md", ".svg"].map((ending) => path.replace(/\.json$/, ending)),
  );
  const report: PruneReport = {
    state: stale.map(({ evidence }) => evidence.key),
    requests: requests.map(({ key }) => key),
    files,
  };
  if (dry_run) return report;
  for (const key of report.state)
    rmSync(join(state_dir, "evidence", `${key}.json`), { force: true });
  for (const key of report.requests) closeRequest(state_dir, key);
  for (const path of files) rmSync(join(root, path), { force: true });
  return report;
}
