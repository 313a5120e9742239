import { join } from "node:path";
import {
  ensureDirSynced,
  removeTree,
  replaceSynced,
  replaceSoon,
  TEMPORARY_SUFFIX,
  unlinkIfThere,
  type Disk,
} from "../core/disk.ts";
import { errorMessage, systemErrorCode } from "../core/errors.ts";
import { prettyJson } from "../core/json.ts";
import type { IntakePaths, IntakeWorld } from "./ports.ts";

/** How far the taking-up of one content got. There is one file for each, gone when it ended. */
export interface JournalRecord {
  schema_version: 1;
  sha256: string;
  name: string;
  at_ms: number;
  /** Parsings that were begun and had no end: each may have cost a whole process. */
  strikes: number;
  /** Set once it was parsed: the submission that is being made of it. */
  storing: {
    submission_id: string;
    /** Name of its directory, which may be there in part. */
    directory: string;
  } | null;
}

const SHA256 = /^[0-9a-f]{64}$/;
/** One name, and no way out of the directory of runs. */
const DIRECTORY = /^(?!\.)[A-Za-z0-9._-]+$/;

function isStoring(value: unknown): value is JournalRecord["storing"] {
  if (value === null) return true;
  if (typeof value !== "object") return false;
  const { submission_id, directory } = value as Record<string, unknown>;
  return (
    typeof submission_id === "string" && typeof directory === "string" && DIRECTORY.test(directory)
  );
}

function isRecord(value: unknown): value is JournalRecord {
  if (typeof value !== "object" || value === null) return false;
  const { schema_version, sha256, name, at_ms, strikes, storing } = value as Record<
    string,
    unknown
  >;
  return (
    schema_version === 1 &&
    typeof sha256 === "string" &&
    SHA256.test(sha256) &&
    typeof name === "string" &&
    Number.isFinite(at_ms) &&
    typeof strikes === "number" &&
    Number.isSafeInteger(strikes) &&
    strikes >= 0 &&
    isStoring(storing)
  );
}

const MAX_RECORD_BYTES = 16 * 1024;
/** A record of a parsing whose file never came back is of no use any more. */
const FORGET_MS = 7 * 24 * 3600_000;

function journalDir(paths: IntakePaths): string {
  return join(paths.state_dir, "intake");
}

export function ensureJournal(disk: Disk, paths: IntakePaths): void {
  ensureDirSynced(disk, journalDir(paths), 0o700);
}

function recordPath(paths: IntakePaths, sha256: string): string {
  return join(journalDir(paths), `${sha256}.json`);
}

/** The record of a content, or undefined; one that nobody can read counts as none. */
export function readRecord(
  disk: Disk,
  paths: IntakePaths,
  sha256: string,
): JournalRecord | undefined {
  let text: string;
  try {
    text = disk.read(recordPath(paths, sha256), MAX_RECORD_BYTES).bytes.toString("utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Durable when it returns. */
export function writeRecord(disk: Disk, paths: IntakePaths, record: JournalRecord): void {
  replaceSynced(disk, recordPath(paths, record.sha256), prettyJson(record), 0o600);
}

/** Outlives this process at once, and a loss of power when the promise is fulfilled. */
export async function noteRecord(
  disk: Disk,
  paths: IntakePaths,
  record: JournalRecord,
): Promise<void> {
  await replaceSoon(disk, recordPath(paths, record.sha256), prettyJson(record), 0o600);
}

/** Durable when it returns, but for `lazily`: a record that comes back is settled once more then. */
export function dropRecord(
  disk: Disk,
  paths: IntakePaths,
  sha256: string,
  how: "synced" | "lazily" = "synced",
): void {
  const dropped = unlinkIfThere(disk, recordPath(paths, sha256));
  if (dropped && how === "synced") disk.syncDir(journalDir(paths));
}

/**
 * Ends what a record says was begun: where the submission is stored it was taken up, else its
 * directory goes, and the file is taken up anew. Returns what is left of the record.
 */
export async function settleRecord(
  { disk, paths, store }: IntakeWorld,
  record: JournalRecord,
): Promise<{ accepted: string | null; record: JournalRecord | undefined }> {
  const { storing } = record;
  if (storing === null) return { accepted: null, record };
  const stored = await store.submission(storing.submission_id);
  if (stored === undefined) {
    removeTree(disk, join(paths.runs_dir, storing.directory));
    disk.syncDir(paths.runs_dir);
  }
  dropRecord(disk, paths, record.sha256);
  return { accepted: stored?.id ?? null, record: undefined };
}

/**
 * Settles every record that a crash left. One that cannot be settled now keeps no other one: it is
 * when its bytes are taken up, or at the next start.
 */
export async function settleJournal(
  world: IntakeWorld,
): Promise<{ accepted: string[]; troubles: string[] }> {
  const { disk, paths, clock } = world;
  const accepted: string[] = [];
  const troubles: string[] = [];
  for (const name of disk.readdir(journalDir(paths))) {
    if (name.endsWith(TEMPORARY_SUFFIX)) unlinkIfThere(disk, join(journalDir(paths), name));
    const sha256 = /^([0-9a-f]{64})\.json$/.exec(name)?.[1];
    if (sha256 === undefined) continue;
    const record = readRecord(disk, paths, sha256);
    if (record === undefined) continue;
    try {
      const settled = await settleRecord(world, record);
      if (settled.accepted !== null) accepted.push(settled.accepted);
      const left = settled.record;
      if (left !== undefined && clock.now_ms() - left.at_ms > FORGET_MS)
        dropRecord(disk, paths, sha256);
    } catch (error) {
      const what = record.storing?.directory ?? record.name;
      troubles.push(`${what}: its taking-up cannot be undone: ${errorMessage(error)}`);
    }
  }
  return { accepted, troubles };
}
