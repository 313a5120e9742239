import { join } from "node:path";
import { z } from "zod";
import {
  ensureDirSynced,
  removeTree,
  replaceSynced,
  TEMPORARY_SUFFIX,
  unlinkIfThere,
  type Disk,
} from "../core/disk.ts";
import { systemErrorCode } from "../core/errors.ts";
import { prettyJson } from "../core/json.ts";
import type { IntakePaths, IntakeWorld } from "./ports.ts";

const recordSchema = z.strictObject({
  schema_version: z.literal(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string(),
  at_ms: z.number(),
  /** Parsings that were begun and had no end: each may have cost a whole process. */
  strikes: z.int().min(0),
  /** Set once it was parsed: the submission that is being made of it. */
  storing: z
    .strictObject({
      submission_id: z.string(),
      /** Name of its directory, which may be there in part. */
      directory: z
        .string()
        .regex(/^[A-Za-z0-9._-]+$/)
        .refine((name) => !name.startsWith(".")),
    })
    .nullable(),
});

/** How far the taking-up of one content got. There is one file for each, gone when it ended. */
export type JournalRecord = z.output<typeof recordSchema>;

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
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Durable when it returns. */
export function writeRecord(disk: Disk, paths: IntakePaths, record: JournalRecord): void {
  replaceSynced(disk, recordPath(paths, record.sha256), prettyJson(record), 0o600);
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

/** Settles every record that a crash left. Returns the submissions that turned out to be stored. */
export async function settleJournal(world: IntakeWorld): Promise<string[]> {
  const { disk, paths, clock } = world;
  const accepted: string[] = [];
  for (const name of disk.readdir(journalDir(paths))) {
    if (name.endsWith(TEMPORARY_SUFFIX)) unlinkIfThere(disk, join(journalDir(paths), name));
    const sha256 = /^([0-9a-f]{64})\.json$/.exec(name)?.[1];
    if (sha256 === undefined) continue;
    const record = readRecord(disk, paths, sha256);
    if (record === undefined) continue;
    const settled = await settleRecord(world, record);
    if (settled.accepted !== null) accepted.push(settled.accepted);
    const left = settled.record;
    if (left !== undefined && clock.now_ms() - left.at_ms > FORGET_MS)
      dropRecord(disk, paths, sha256);
  }
  return accepted;
}
