import { existsSync, readFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { z } from "zod";
import { fileTime, isoTime, type Clock } from "../core/clock.ts";
import type { SeenFile } from "../core/disk.ts";
import { inputError } from "../core/errors.ts";
import { createFileAtomic, ensureDir, readTextIfThere } from "../core/files.ts";
import { slug } from "../core/text.ts";
import { prettyJson, sha256Hex } from "../core/json.ts";
import type { QueueContext, QueueEntry } from "../queue/index.ts";
import type { Loaders } from "./rooms.ts";
import { takeUp, type TakenInput, type TakenUp } from "./take-up.ts";

const submissionSchema = z.object({
  schema_version: z.literal(1),
  /** ULID. */
  id: z.string(),
  created: z.string(),
  source: z.object({ path: z.string(), sha256: z.string(), copy: z.string() }),
  runner_override: z.string().nullable(),
  /** `inbox`: its entries are jobs of the queue; `command`: `queue run` runs it by itself. */
  origin: z.enum(["inbox", "command"]).default("command"),
  inputs: z.array(
    z.object({
      kind: z.enum(["config", "pack", "judge_config", "model"]),
      path: z.string(),
      sha256: z.string(),
      copy: z.string(),
      pack_id: z.string().nullable(),
    }),
  ),
});

/** `submission.json`: what was taken up; written once and never changed. */
export type SubmissionRecord = z.output<typeof submissionSchema>;

/** A submission as it lies on disk. */
export interface SubmissionDir {
  directory: string;
  record: SubmissionRecord;
  entries: QueueEntry[];
  warnings: string[];
  /** Where the copy of a named file is, absolute. */
  copyOf(kind: TakenInput["kind"], path: string): string;
  /** Directory of an entry's bundle, relative to `directory`. */
  bundleOf(entry: QueueEntry): string;
}

export interface OpenOptions {
  context: Omit<QueueContext, "look">;
  loaders: Loaders;
  clock: Clock;
}

function submissionDir(
  directory: string,
  record: SubmissionRecord,
  taken: { file: { entries: QueueEntry[] }; warnings: string[] },
): SubmissionDir {
  const find = (kind: string, path: string): TakenInput | undefined =>
    record.inputs.find((input) => input.kind === kind && input.path === path);
  return {
    directory,
    record,
    entries: taken.file.entries,
    warnings: taken.warnings,
    copyOf: (kind, path) => join(directory, find(kind, path)?.copy ?? path),
    bundleOf({ index, model, pack }) {
      const pack_id = find("pack", pack)?.pack_id ?? basename(pack, extname(pack));
      return `e${index}-${slug(model.id)}-${slug(pack_id)}`;
    },
  };
}

/** The directory of a new submission as data; nothing is written yet. */
export interface SubmissionPlan {
  /** Its name in the directory of runs. */
  directory: string;
  /** Paths relative to it. In this order: with the last one the directory is complete. */
  files: { path: string; bytes: Buffer }[];
  /** Path of the queue file's copy. */
  source: string;
  jobs: { entry: QueueEntry; bundle: string }[];
  warnings: string[];
  /** All that was read for it beside the queue file; null where more than files decided. */
  seen: SeenFile[] | null;
}

type PlanOptions = Omit<OpenOptions, "clock"> & {
  path: string;
  taken: TakenUp;
  id: string;
  created_ms: number;
};

function newRecord(
  origin: SubmissionRecord["origin"],
  { path, taken, id, context, created_ms }: PlanOptions,
): SubmissionRecord {
  const copy = `source${extname(path).toLowerCase() === ".json" ? ".json" : ".yaml"}`;
  return {
    schema_version: 1,
    id,
    created: isoTime(created_ms),
    source: { path: resolve(path), sha256: taken.sha256, copy },
    runner_override: context.runner_override ?? null,
    origin,
    inputs: taken.inputs,
  };
}

function planOf(options: PlanOptions, record: SubmissionRecord): SubmissionPlan {
  const { path, taken, id } = options;
  const name = slug(basename(path, extname(path)));
  const submission = submissionDir("", record, taken);
  return {
    directory: `${fileTime(options.created_ms)}-${id}-${name}`,
    files: [
      { path: record.source.copy, bytes: taken.bytes },
      ...[...taken.contents].map(([copy, bytes]) => ({ path: copy, bytes })),
      { path: "submission.json", bytes: Buffer.from(prettyJson(record)) },
    ],
    source: record.source.copy,
    jobs: taken.file.entries.map((entry) => ({ entry, bundle: submission.bundleOf(entry) })),
    warnings: taken.warnings,
    seen: taken.seen,
  };
}

/** What the directory of a new submission is to hold. */
export function planSubmission(options: PlanOptions): SubmissionPlan {
  return planOf(options, newRecord("inbox", options));
}

/** Makes the directory of a new submission from what was taken up. */
export function createSubmission(
  given: Omit<PlanOptions, "created_ms"> & { runs_dir: string; clock: Clock },
): SubmissionDir {
  const options = { ...given, created_ms: given.clock.now_ms() };
  const record = newRecord("command", options);
  const plan = planOf(options, record);
  const directory = join(options.runs_dir, plan.directory);
  ensureDir(directory);
  ensureDir(join(directory, "inputs"));
  for (const { path, bytes } of plan.files) createFileAtomic(join(directory, path), bytes);
  return submissionDir(directory, record, options.taken);
}

/** What `submission.json` of a directory says. Throws an input error where it says nothing. */
export function readRecord(directory: string): SubmissionRecord {
  const path = join(directory, "submission.json");
  const text = readTextIfThere(path);
  if (text === undefined) {
    const hint = "Give the directory that `queue run` printed; it holds a submission.json.";
    throw inputError(`${directory}: not a submission of queue run`, hint, "no_submission");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const record = submissionSchema.safeParse(value);
  if (record.success) return record.data;
  throw inputError(`${path}: damaged`, "Start anew with the queue file.", "bad_submission");
}

function verified(path: string, sha256: string): Buffer {
  const damaged = (what: string) =>
    inputError(`${path}: ${what}`, "Start anew with the queue file.", "snapshot_changed");
  if (!existsSync(path)) throw damaged("the copy that was taken up is gone");
  const bytes = readFileSync(path);
  if (sha256Hex(bytes) !== sha256) throw damaged("the copy that was taken up was changed since");
  return bytes;
}

/**
 * A submission that was taken up for the queue, whose entries the store has. Nothing is parsed, and
 * the copies are not looked at before `proveCopies` is called.
 */
export function openTaken(
  directory: string,
  entries: QueueEntry[],
  warnings: string[],
): SubmissionDir {
  return submissionDir(directory, readRecord(directory), { file: { entries }, warnings });
}

/** Throws an input error where a copy that `entry` needs is gone or was changed since. */
export function proveCopies({ directory, record }: SubmissionDir, entry: QueueEntry): void {
  const named = new Set([entry.pack, entry.config, entry.judge_config]);
  for (const input of record.inputs) {
    if (named.has(input.path)) verified(join(directory, input.copy), input.sha256);
  }
}

/**
 * Opens a submission again. What was taken up then is what runs now: a queue file given with it must
 * be the very same, byte for byte.
 */
export function reopenSubmission(
  directory: string,
  path: string | null,
  options: OpenOptions,
): SubmissionDir {
  const record = readRecord(directory);
  if (path !== null) {
    const given = sha256Hex(readFileSync(path));
    if (given !== record.source.sha256) {
      throw inputError(
        `${path}: not the file that ${directory} was made from (its SHA-256 is another)`,
        "Leave FILE away to resume what was taken up then, or run the new file without --resume.",
        "source_changed",
      );
    }
  }
  const bytes = verified(join(directory, record.source.copy), record.source.sha256);
  const context = { ...options.context, runner_override: record.runner_override };
  const taken = takeUp(record.source.path, bytes, context, options.loaders, (kind, named) => {
    const input = record.inputs.find((one) => one.kind === kind && one.path === named);
    const copy = join(directory, input?.copy ?? named);
    verified(copy, input?.sha256 ?? "");
    return copy;
  });
  return submissionDir(directory, record, taken);
}
