import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { errorMessage, systemErrorCode } from "../core/errors.ts";
import { sha256Hex } from "../core/json.ts";
import { commandLine } from "../core/process-table.ts";
import { detailOf } from "../intake/index.ts";
import { lockStatus } from "../station/index.ts";
import { readRecord, type Rooms } from "../steps/index.ts";
import type { Store, Submission, Violation } from "../store/index.ts";
import type { Job } from "../queue/index.ts";
import { ownerProof } from "./owner.ts";
import { endOf } from "./summary-end.ts";

export interface CheckStationOptions {
  store: Store;
  root: string;
  runs_dir: string;
  state_dir: string;
  lock_path: string;
  rooms: Pick<Rooms, "stepFault">;
  /** Why the runs cannot be looked at; null where they can. */
  runs_fault: string | null;
}

export interface StationCheck {
  violations: Violation[];
  /** What is no broken promise, and no sound station either: a person took something away. */
  notes: Violation[];
  jobs: number;
  submissions: number;
}

/** `<utc>-<ulid>-NAME`, as files are called that were put away. */
const PLACED_NAME = /^\d{4}-\d{2}-\d{2}T[0-9-]+Z-([0-9A-HJKMNP-TV-Z]{26})-/;

function names(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Where the files of submissions were put away, by their ids. */
function placedById(root: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const folder of ["done", "failed"]) {
    const directory = join(root, "inbox", folder);
    for (const name of names(directory)) {
      const id = PLACED_NAME.exec(name)?.[1];
      if (id !== undefined) found.set(id, [...(found.get(id) ?? []), join(directory, name)]);
    }
  }
  return found;
}

/** Accepted means never lost: store, directory, snapshot and file of one submission. */
function checkSubmission(
  submission: Submission,
  placed: readonly string[],
  runs_away: boolean,
): string[][] {
  const found: string[][] = [];
  const detail = detailOf(submission);
  if (placed.length > 1) found.push(["one_place", `its file is in ${placed.join(" and in ")}`]);
  if (submission.open_jobs > 0 && placed.length > 0 && submission.placed_path === null) {
    found.push(["one_place", `its file was put away (${placed.join()}) before its jobs had ended`]);
  }
  if (detail === null || submission.placed_path !== null || runs_away) return found;
  const path = submission.snapshot_path;
  if (path === null || !existsSync(path)) {
    found.push(["accepted_not_lost", "what was taken up of it is gone"]);
  } else if (sha256Hex(readFileSync(path)) !== submission.sha256) {
    found.push(["accepted_not_lost", `${path} is not what was taken up`]);
  }
  return found;
}

/** The text of `path`, or undefined where it has gone meanwhile. */
function textIfStill(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

type Findings = Pick<StationCheck, "violations" | "notes">;

interface TakenDirectory {
  directory: string;
  submission_id: string;
}

/** The submission of the inbox that `directory` is of; null for a `queue run`'s. */
function submissionAt(directory: string, damaged: Violation[]): string | null {
  try {
    const record = readRecord(directory);
    return record.origin === "inbox" ? record.id : null;
  } catch (error) {
    const message = errorMessage(error);
    if (existsSync(directory)) damaged.push({ rule: "readable_record", subject: null, message });
    return null;
  }
}

/** Directories of submissions that were taken up whole, but for those whose taking-up is under way. */
function takenDirectories(
  { runs_dir, state_dir }: CheckStationOptions,
  damaged: Violation[],
): TakenDirectory[] {
  const found: TakenDirectory[] = [];
  for (const name of names(runs_dir)) {
    const directory = join(runs_dir, name);
    if (!existsSync(join(directory, "submission.json"))) continue;
    const submission_id = submissionAt(directory, damaged);
    if (submission_id !== null) found.push({ directory, submission_id });
  }
  const journal = join(state_dir, "intake");
  const pending = names(journal).map((name) => textIfStill(join(journal, name)) ?? "");
  return found.filter(({ submission_id }) => !pending.some((text) => text.includes(submission_id)));
}

/** Of those, the ones of which the store knows nothing. */
function lostDirectories(
  taken: readonly TakenDirectory[],
  known: ReadonlySet<string>,
  placed: ReadonlyMap<string, unknown>,
): Findings {
  const findings: Findings = { violations: [], notes: [] };
  for (const { directory, submission_id: subject } of taken) {
    if (known.has(subject) || placed.has(subject) || !existsSync(directory)) continue;
    // What has ended is not waited for, and its results are there.
    if (endOf(directory) === null) {
      const message = `${directory} was taken up, and the store does not know it`;
      findings.violations.push({ rule: "accepted_not_lost", subject, message });
    } else {
      const message = `${directory} had ended, and the store does not know it`;
      findings.notes.push({ rule: "not_in_store", subject, message });
    }
  }
  return findings;
}

/** What of a COMPLETE job's results is not there; null where all is. */
function resultFault({ rooms }: CheckStationOptions, job: Job): string | null {
  if (!existsSync(job.bundle_dir)) return `its bundle ${job.bundle_dir} is gone`;
  const judged = job.entry.judge_config !== null;
  return (
    rooms.stepFault("eval", job.bundle_dir, 0) ??
    (judged ? rooms.stepFault("judge", job.bundle_dir, 0) : null)
  );
}

/**
 * A COMPLETE job has the results that its steps owe. Where the whole directory of a submission that
 * has ended is gone, somebody has taken it away, which anybody may; it is said, no more.
 */
async function checkResults(
  options: CheckStationOptions,
  submissions: readonly Submission[],
): Promise<Findings> {
  const findings: Findings = { violations: [], notes: [] };
  const removed = new Set<string>();
  for (const submission of submissions) {
    const directory = detailOf(submission)?.directory;
    if (directory === undefined || submission.open_jobs > 0 || existsSync(directory)) continue;
    removed.add(submission.id);
    const message = `its run ${directory} was removed, with its results`;
    findings.notes.push({ rule: "run_removed", subject: submission.id, message });
  }
  for (const job of await options.store.jobs({ states: ["COMPLETE"] })) {
    const message = removed.has(job.submission_id) ? null : resultFault(options, job);
    if (message === null) continue;
    findings.violations.push({ rule: "complete_has_results", subject: job.id, message });
  }
  return findings;
}

function runsAway(message: string): Findings {
  return { violations: [{ rule: "runs_there", subject: null, message }], notes: [] };
}

/** One job at a time on this host, and one step tree under the model lock. */
async function checkRunning({ store, lock_path }: CheckStationOptions): Promise<Violation[]> {
  const found: Violation[] = [];
  const running = await store.jobs({ states: ["CLAIMED", "IN_PROGRESS"] });
  const owners = await store.owners();
  const proof = ownerProof(hostname());
  const local = running.filter((job) => {
    const owner = owners.find(({ id }) => id === job.owner);
    return owner !== undefined && proof(owner) === "alive";
  });
  if (local.length > 1) {
    const message = `${local.length} jobs run at once: ${local.map(({ id }) => id).join(", ")}`;
    found.push({ rule: "one_at_a_time", subject: null, message });
  }
  const { processes } = await lockStatus(lock_path);
  const steps = processes.filter(({ pid }) => commandLine(pid).includes("_step"));
  if (steps.length > 1) {
    const pids = steps.map(({ pid }) => pid).join(", ");
    const message = `${steps.length} steps live under the model lock: pids ${pids}`;
    found.push({ rule: "one_step_tree", subject: null, message });
  }
  return found;
}

/**
 * Everything that contradicts what the queue promises, in the store and in the files. A daemon may be
 * at work meanwhile: the files are looked at before the store, since a file is put away after the
 * store knows of the end, and a directory is known to the store before its journal record goes.
 */
export async function checkStation(options: CheckStationOptions): Promise<StationCheck> {
  const { store, root } = options;
  const placed = placedById(root);
  const damaged: Violation[] = [];
  const taken = takenDirectories(options, damaged);
  const violations = await store.check();
  const submissions = await store.submissions();
  for (const submission of submissions) {
    for (const [rule = "", message = ""] of checkSubmission(
      submission,
      placed.get(submission.id) ?? [],
      options.runs_fault !== null,
    )) {
      violations.push({ rule, subject: submission.id, message });
    }
  }
  const known = new Set(submissions.map(({ id }) => id));
  const away = options.runs_fault;
  const lost = lostDirectories(taken, known, placed);
  const results = away === null ? await checkResults(options, submissions) : runsAway(away);
  violations.push(
    ...damaged,
    ...lost.violations,
    ...results.violations,
    ...(await checkRunning(options)),
  );
  const notes = [...lost.notes, ...results.notes];
  const counts = await store.counts();
  const jobs = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return { violations, notes, jobs, submissions: submissions.length };
}
