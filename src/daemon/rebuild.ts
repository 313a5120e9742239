import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorMessage } from "../core/errors.ts";
import { readTextIfThere } from "../core/files.ts";
import type { UlidSource } from "../core/ids.ts";
import { parseJsonLenient, type JsonValue } from "../core/json.ts";
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
import type { NewJob, Store } from "../store/index.ts";

export interface RebuildOptions {
  store: Pick<Store, "accept" | "place" | "cancel" | "hold">;
  runs_dir: string;
  inbox: string;
  context: Omit<QueueContext, "look">;
  loaders: Loaders;
  rooms: Pick<Rooms, "clock" | "stepFault">;
  new_id: UlidSource;
}

export interface RebuildReport {
  submissions: number;
  /** Jobs with valid results. */
  complete: number;
  /** Jobs that will run again, with their first priority. */
  pending: number;
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

function saidDone(directory: string): boolean {
  const text = readTextIfThere(join(directory, "summary.json"));
  const value = text === undefined ? null : parseJsonLenient(text);
  return typeof value === "object" && value !== null && Reflect.get(value, "state") === "done";
}

function endedAt(bundle_dir: string, otherwise_ms: number): number {
  const stat = statSync(join(bundle_dir, "bundle.json"), { throwIfNoEntry: false });
  return stat === undefined ? otherwise_ms : Math.round(stat.mtimeMs);
}

function newJob(
  submission: SubmissionDir,
  row: Row,
  given: { id: string; created_ms: number },
): NewJob | undefined {
  const entry = submission.entries.find(({ index }) => index === row.index);
  if (entry === undefined) return undefined;
  const bundle_dir = join(submission.directory, submission.bundleOf(entry));
  const job = { id: given.id, index: entry.index, entry, bundle_dir };
  if (row.status !== "ok") return job;
  const result = { bundle_dir, ...row.result } as JsonValue;
  return { ...job, restored: { result, ended_at_ms: endedAt(bundle_dir, given.created_ms) } };
}

/** Stores one submission again; the reason where that is not to be done. */
async function restoreOne(
  options: RebuildOptions,
  directory: string,
  record: SubmissionRecord,
  report: RebuildReport,
): Promise<string | null> {
  const { store, inbox, rooms, new_id } = options;
  const placed = placedFile(inbox, record.id);
  if (placed?.folder === "failed") return "it had ended; its file is in failed/";
  const submission = reopenSubmission(directory, null, { ...options, clock: rooms.clock });
  const rows = restoreSummary(submission, rooms).entries;
  const whole = rows.every((row) => row.status === "ok");
  if (!whole && saidDone(directory)) return "it had ended, not all of it well";
  const created_ms = Date.parse(record.created);
  const jobs = rows.flatMap(
    (row) => newJob(submission, row, { id: row.job?.id ?? new_id(), created_ms }) ?? [],
  );
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
  for (const { job } of rows) {
    if (job?.state === "CANCELLED") await store.cancel(job.id, now_ms);
    else if (job?.held === true) await store.hold(job.id, now_ms);
  }
  if (placed !== null && whole) await store.place(record.id, placed.path, now_ms);
  const complete = jobs.filter((job) => job.restored !== undefined).length;
  report.submissions += 1;
  report.complete += complete;
  report.pending += jobs.length - complete;
  return null;
}

/**
 * Fills an empty store from what lies on the disk: what has valid results is COMPLETE, the rest waits
 * with its first priority. Runs of `queue run` are nobody's jobs and stay out.
 */
export async function rebuildStore(options: RebuildOptions): Promise<RebuildReport> {
  const report: RebuildReport = { submissions: 0, complete: 0, pending: 0, left_out: [] };
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
  return report;
}

export function rebuildText(report: RebuildReport): string {
  const { submissions, complete, pending, left_out } = report;
  const more = left_out.length === 0 ? "" : `, ${left_out.length} left out`;
  return `${submissions} submissions: ${complete} jobs complete, ${pending} to run${more}`;
}
