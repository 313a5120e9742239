import { dirname, join } from "node:path";
import { removeTree } from "../core/disk.ts";
import { sha256Hex } from "../core/json.ts";
import { detailJson } from "./detail.ts";
import {
  dropRecord,
  noteRecord,
  readRecord,
  settleRecord,
  writeRecord,
  type JournalRecord,
} from "./journal.ts";
import type { SubmissionPlan } from "./parse-protocol.ts";
import { rejectFile } from "./placing.ts";
import type { IntakeWorld } from "./ports.ts";
import { readRipe } from "./read-file.ts";
import { refusal, type Refusal } from "./refusal.ts";
import type { RipeFile } from "./scan.ts";

export type TakeUpOutcome =
  | { kind: "accepted"; submission_id: string; jobs: number; warnings: string[] }
  /** The submission of this very file is open; the file was touched, no more. */
  | { kind: "already"; submission_id: string }
  | { kind: "rejected"; refusal: Refusal; path: string; duplicate_of: string | null }
  /** It is not what was looked at any more, or did not live through its first parsing. */
  | { kind: "waits"; why: string }
  /** This machine's trouble and not the file's: nothing has happened to the file. */
  | { kind: "trouble"; message: string }
  | { kind: "stopped" };

/** A text that cost so many parsers, or daemons, is not parsed again. */
const MAX_STRIKES = 2;

function reject(
  world: IntakeWorld,
  file: RipeFile,
  why: Refusal,
  sha256: string | null = null,
  duplicate_of: string | null = null,
): TakeUpOutcome {
  const path = rejectFile(world, file, why, sha256);
  if (path === null) return { kind: "waits", why: "it was changed while it was judged" };
  return { kind: "rejected", refusal: why, path, duplicate_of };
}

function rejectDuplicate(world: IntakeWorld, file: RipeFile, sha256: string, id: string) {
  const why = refusal(
    "duplicate",
    `${file.name}: the same bytes are being worked on as submission ${id}`,
    "Wait until that one has ended (`touchstoned queue list`), or change what is to differ.",
  );
  return reject(world, file, why, sha256, id);
}

/** The submission that these bytes belong to and whose file is still in the inbox. */
async function openTwin(world: IntakeWorld, file: RipeFile, sha256: string) {
  const twins = await world.store.submissions({ placed: false, sha256 });
  const same = twins.find((twin) => twin.file_name === file.name);
  if (same !== undefined) return same;
  // An ended one of another name is only not put away yet: these bytes are new work.
  return twins.find((twin) => twin.open_jobs > 0);
}

async function writePlan(world: IntakeWorld, plan: SubmissionPlan): Promise<string> {
  const { disk, paths } = world;
  const directory = join(paths.runs_dir, plan.directory);
  disk.mkdir(directory, 0o755);
  const directories = new Set([directory]);
  const create = ({ path, bytes }: SubmissionPlan["files"][number]): string => {
    const file = join(directory, path);
    if (!directories.has(dirname(file))) disk.mkdir(dirname(file), 0o755);
    directories.add(dirname(file));
    disk.create(file, bytes, 0o644);
    return file;
  };
  // With the last file the directory counts as whole, so the others are there before it.
  const others = plan.files.slice(0, -1).map(create);
  await disk.sync([...others, ...directories]);
  const last = plan.files.slice(-1).map(create);
  await disk.sync([...last, directory, paths.runs_dir]);
  return directory;
}

/** Writes the directory, then stores the jobs; what a crash between leaves, the journal undoes. */
async function store(
  world: IntakeWorld,
  file: RipeFile,
  sha256: string,
  id: string,
  accepted_at_ms: number,
  plan: SubmissionPlan,
): Promise<TakeUpOutcome> {
  const { disk, paths } = world;
  world.onStoring?.();
  const storing = { submission_id: id, directory: plan.directory };
  const record = { schema_version: 1 as const, sha256, name: file.name, at_ms: accepted_at_ms };
  writeRecord(disk, paths, { ...record, strikes: 0, storing });
  const directory = await writePlan(world, plan);
  const report = await world.store.accept(
    {
      id,
      file_name: file.name,
      sha256,
      snapshot_path: join(directory, plan.source),
      accepted_at_ms,
      detail: detailJson({ file_key: file.key, directory, warnings: plan.warnings }),
    },
    plan.jobs.map(({ entry, bundle }, index) => ({
      id: world.new_id(),
      index,
      entry,
      bundle_dir: join(directory, bundle),
    })),
  );
  if (report.outcome === "duplicate") {
    removeTree(disk, directory);
    dropRecord(disk, paths, sha256);
    return rejectDuplicate(world, file, sha256, report.submission_id);
  }
  dropRecord(disk, paths, sha256, "lazily");
  return {
    kind: "accepted",
    submission_id: report.submission_id,
    jobs: plan.jobs.length,
    warnings: plan.warnings,
  };
}

async function parse(
  world: IntakeWorld,
  file: RipeFile,
  read: { bytes: Buffer; sha256: string; strikes: number },
  signal: AbortSignal,
): Promise<TakeUpOutcome> {
  const { disk, paths, clock } = world;
  const { bytes, sha256 } = read;
  const id = world.new_id();
  const created_ms = clock.now_ms();
  const strikes = read.strikes + 1;
  const begun = (count: number): JournalRecord => ({
    schema_version: 1,
    sha256,
    name: file.name,
    at_ms: created_ms,
    strikes: count,
    storing: null,
  });
  let noted: Promise<void> | undefined;
  const outcome = await world.parser.parse(
    { schema_version: 1, id, path: file.path, bytes_base64: bytes.toString("base64"), created_ms },
    {
      signal,
      beforeText() {
        noted = noteRecord(disk, paths, begun(strikes));
        noted.catch(() => undefined); // it is waited for below
      },
    },
  );
  await noted;
  switch (outcome.kind) {
    case "plan":
      return store(world, file, sha256, id, created_ms, outcome.plan);
    case "refused":
      dropRecord(disk, paths, sha256);
      return reject(world, file, outcome.refusal, sha256);
    case "died":
      if (strikes < MAX_STRIKES) return { kind: "waits", why: outcome.message };
      return quarantine(world, file, sha256, outcome.message);
    case "unavailable":
      return { kind: "trouble", message: outcome.message };
    case "stopped":
      // An orderly stop says nothing about the text.
      if (read.strikes === 0) dropRecord(disk, paths, sha256);
      else writeRecord(disk, paths, begun(read.strikes));
      return { kind: "stopped" };
    default:
      return outcome satisfies never;
  }
}

function quarantine(world: IntakeWorld, file: RipeFile, sha256: string, last: string) {
  const why = refusal(
    "kills_parser",
    `${file.name}: parsing it failed ${MAX_STRIKES} times without an answer (${last})`,
    "Look for very deep nesting or very long lines; write it anew, simpler.",
  );
  const outcome = reject(world, file, why, sha256);
  dropRecord(world.disk, world.paths, sha256);
  return outcome;
}

/**
 * Takes up one file at rest: reads it once, parses it in a child, writes the submission's directory,
 * stores its jobs. At every point a crash leaves it either not taken up or taken up once
 * (`recoverIntake` sees to the rest). Throws where disk or store fail; the file is then where it was,
 * and may be taken up again.
 */
export async function takeUpFile(
  world: IntakeWorld,
  file: RipeFile,
  signal: AbortSignal,
): Promise<TakeUpOutcome> {
  const { disk, paths } = world;
  const reading = readRipe(disk, file, world.trust);
  if (reading.kind === "changed") return { kind: "waits", why: "it is being changed" };
  if (reading.kind === "refused") return reject(world, file, reading.refusal);
  const { bytes } = reading;
  const sha256 = sha256Hex(bytes);
  let record = readRecord(disk, paths, sha256);
  if (record !== undefined) ({ record } = await settleRecord(world, record));
  const twin = await openTwin(world, file, sha256);
  if (twin?.file_name === file.name) return { kind: "already", submission_id: twin.id };
  if (twin !== undefined) return rejectDuplicate(world, file, sha256, twin.id);
  const strikes = record?.strikes ?? 0;
  if (strikes >= MAX_STRIKES) {
    return quarantine(world, file, sha256, "the program ended while it was parsed");
  }
  return parse(world, file, { bytes, sha256, strikes }, signal);
}
