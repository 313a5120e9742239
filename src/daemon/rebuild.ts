import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorMessage } from "../core/errors.ts";
import type { UlidSource } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { EntrySummary, QueueContext } from "../queue/index.ts";
import {
  readRecord,
  reopenSubmission,
  restoreSummary,
  type Loaders,
  type Rooms,
  type SubmissionDir,
  type SubmissionRecord,
} from "../steps/index.ts";
import { QUEUE, type NewJob, type Restored, type Store } from "../store/index.ts";
import { endOf, type SubmissionEnd } from "./summary-end.ts";

export interface RebuildOptions {
  store: Pick<Store, "accept" | "place" | "hold">;
  runs_dir: string;
  inbox: string;
  context: Omit<QueueContext, "look">;
  loaders: Loaders;
  rooms: Pick<Rooms, "clock" | "stepFault">;
  new_id: UlidSource;
  /** Whether the queue was held. */
  held: boolean;
}

export interface RebuildReport {
  submissions: number;
  /** Jobs with valid results. */
  complete: number;
  /** Jobs that will run again, with their first priority. */
  pending: number;
  /** Jobs that had ended otherwise. */
  failed: number;
  cancelled: number;
  /** The queue was held, and is. */
  held: boolean;
  /** Submissions that are not in the store, and why. */
  left_out: { directory: string; reason: string }[];
}

type Row = EntrySummary;

/** Names below `directory`, or none where there is no such directory. */
function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).sort() : [];
}

/** Where the file of a submission was put away: its id is in the name. */
function placedFile(inbox: string, id: string): { folder: "done" | "failed"; path: string } | null {
  for (const folder of ["done", "failed"] as const) {
    const name = namesIn(join(inbox, folder)).find((one) => one.includes(`-${id}-`));
    if (name !== undefined) return { folder, path: join(inbox, folder, name) };
  }
  return null;
}

function endedAt(bundle_dir: string, otherwise_ms: number): number {
  const stat = statSync(join(bundle_dir, "bundle.json"), { throwIfNoEntry: false });
  return stat === undefined ? otherwise_ms : Math.round(stat.mtimeMs);
}

interface Found {
  submission: SubmissionDir;
  created_ms: number;
  /** Null where something was left to do. */
  end: SubmissionEnd | null;
  placed: ReturnType<typeof placedFile>;
}

/** How the job of `row` had ended; undefined where it is to run. */
function restored(row: Row, bundle_dir: string, found: Found): Restored | undefined {
  const { end, created_ms, placed } = found;
  if (row.status === "ok") {
    const result = { bundle_dir, ...row.result } as JsonValue;
    return { state: "COMPLETE", result, ended_at_ms: endedAt(bundle_dir, created_ms) };
  }
  const ended_at_ms = end?.at_ms ?? created_ms;
  if (row.job?.state === "CANCELLED") return { state: "CANCELLED", ended_at_ms };
  // A file in failed/ whose summary is open: what was retried by hand since is to run.
  const failed = row.job?.state === "FAILED" && row.job.retry_after === null;
  if (end === null && !(placed?.folder === "failed" && failed)) return undefined;
  const message =
    row.error ?? end?.errors.get(row.index) ?? "it had ended; the reason is not known any more";
  return { state: "FAILED", failure: { kind: "error", message, step: null }, ended_at_ms };
}

function newJob(found: Found, row: Row, new_id: UlidSource): NewJob | undefined {
  const { submission } = found;
  const entry = submission.entries.find(({ index }) => index === row.index);
  if (entry === undefined) return undefined;
  const bundle_dir = join(submission.directory, submission.bundleOf(entry));
  const job = { id: row.job?.id ?? new_id(), index: entry.index, entry, bundle_dir };
  const end = restored(row, bundle_dir, found);
  return end === undefined ? job : { ...job, restored: end };
}

function count(jobs: readonly NewJob[], report: RebuildReport): void {
  report.submissions += 1;
  for (const { restored: end } of jobs) {
    if (end === undefined) report.pending += 1;
    else if (end.state === "COMPLETE") report.complete += 1;
    else if (end.state === "FAILED") report.failed += 1;
    else report.cancelled += 1;
  }
}

/** Stores one submission again; the reason where that is not to be done. */
async function restoreOne(
  options: RebuildOptions,
  directory: string,
  record: SubmissionRecord,
  report: RebuildReport,
): Promise<string | null> {
  const { store, inbox, rooms, new_id } = options;
  const submission = reopenSubmission(directory, null, { ...options, clock: rooms.clock });
  const created_ms = Date.parse(record.created);
  // Read before the summary is made true by the bundles, which takes its end for a new beginning.
  const end = endOf(directory);
  const rows = restoreSummary(submission, rooms).entries;
  const found = { submission, created_ms, end, placed: placedFile(inbox, record.id) };
  const jobs = rows.flatMap((row) => newJob(found, row, new_id) ?? []);
  const outcome = await store.accept(
    {
      id: record.id,
      file_name: basename(record.source.path),
      sha256: record.source.sha256,
      snapshot_path: join(directory, record.source.copy),
      accepted_at_ms: created_ms,
      // The file in the inbox, if it is there, is known by its bytes.
      detail: { file_key: "", directory, warnings: submission.warnings },
    },
    jobs,
  );
  if (outcome.outcome === "duplicate") {
    return `the same bytes are open as submission ${outcome.submission_id}`;
  }
  const now_ms = rooms.clock.now_ms();
  for (const { job } of rows) if (job?.held === true) await store.hold(job.id, now_ms);
  if (found.placed !== null) await store.place(record.id, found.placed.path, now_ms);
  count(jobs, report);
  return null;
}

/**
 * Fills an empty store from what lies on the disk: what has valid results is COMPLETE, the rest waits
 * with its first priority, unless it had ended otherwise. Runs of `queue run` are nobody's jobs and stay out.
 */
export async function rebuildStore(options: RebuildOptions): Promise<RebuildReport> {
  const ends = { complete: 0, pending: 0, failed: 0, cancelled: 0 };
  const report: RebuildReport = { submissions: 0, ...ends, held: options.held, left_out: [] };
  for (const name of namesIn(options.runs_dir)) {
    const directory = join(options.runs_dir, name);
    if (!existsSync(join(directory, "submission.json"))) continue;
    try {
      const record = readRecord(directory);
      if (record.origin !== "inbox") continue;
      const reason = await restoreOne(options, directory, record, report);
      if (reason !== null) report.left_out.push({ directory, reason });
    } catch (error) {
      report.left_out.push({ directory, reason: errorMessage(error) });
    }
  }
  if (options.held) await options.store.hold(QUEUE, options.rooms.clock.now_ms());
  return report;
}

export function rebuildText(report: RebuildReport): string {
  const { submissions, complete, pending, failed, cancelled, left_out, held } = report;
  const parts = [`${complete} jobs complete`, `${pending} to run`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (cancelled > 0) parts.push(`${cancelled} cancelled`);
  if (left_out.length > 0) parts.push(`${left_out.length} left out`);
  const hold = held ? "; the queue is held as before (touchstoned queue release)" : "";
  return `${submissions} submissions: ${parts.join(", ")}${hold}`;
}
