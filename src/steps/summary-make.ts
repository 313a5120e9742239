import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { readTextIfThere } from "../core/files.ts";
import { parseJsonLenient } from "../core/json.ts";
import { summarySchema, type EntrySummary, type QueueEntry, type Summary } from "../queue/index.ts";
import { restoreEntry } from "./bundle-state.ts";
import type { Rooms } from "./rooms.ts";
import type { SubmissionDir } from "./submission-dir.ts";

function newRow(submission: SubmissionDir, entry: QueueEntry): EntrySummary {
  return {
    index: entry.index,
    id: entry.id,
    key: entry.key,
    model_id: entry.model.id,
    quant: entry.model.quant,
    runner: entry.runner,
    config: entry.config,
    pack: entry.pack,
    judge_config: entry.judge_config,
    judge_model: entry.judge_model,
    bundle_dir: submission.bundleOf(entry),
    status: "pending",
    step: null,
    since: null,
    attempts: 0,
    load_status: "pending",
    eval_status: "pending",
    judge_status: entry.judge_config === null ? "skipped" : "pending",
    load_seconds: null,
    eval_seconds: null,
    judge_seconds: null,
    error: null,
    advice: null,
    warnings: [],
    result: null,
    job: null,
  };
}

/** The summary of a submission of which nothing was done yet. */
export function newSummary(submission: SubmissionDir): Summary {
  const { record, entries, warnings } = submission;
  return {
    schema_version: 1,
    id: record.id,
    state: "running",
    reason: null,
    source: { path: record.source.path, sha256: record.source.sha256 },
    started: record.created,
    resumed: [],
    updated: record.created,
    ended: null,
    total: entries.length,
    done: 0,
    ok: 0,
    warnings: [...warnings],
    resume_command: null,
    entries: entries.map((entry) => newRow(submission, entry)),
  };
}

/** The summary of an earlier invocation, made true by the bundles; rebuilt where it is unreadable. */
export function restoreSummary(
  submission: SubmissionDir,
  rooms: Pick<Rooms, "clock" | "stepFault">,
): Summary {
  const text = readTextIfThere(join(submission.directory, "summary.json"));
  const read = summarySchema.safeParse(text === undefined ? null : parseJsonLenient(text));
  const known = read.success && read.data.id === submission.record.id ? read.data : null;
  const summary = known ?? newSummary(submission);
  summary.entries = submission.entries.map((entry) => {
    const row =
      known?.entries.find((one) => one.index === entry.index) ?? newRow(submission, entry);
    restoreEntry(row, entry, join(submission.directory, row.bundle_dir), rooms);
    return row;
  });
  summary.resumed.push(isoTime(rooms.clock.now_ms()));
  [summary.state, summary.reason, summary.ended] = ["running", null, null];
  if (known === null)
    summary.warnings.push("summary.json was unreadable: rebuilt from the bundles");
  return summary;
}
