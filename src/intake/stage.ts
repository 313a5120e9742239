import { dirname, join } from "node:path";
import { removeTree } from "../core/disk.ts";
import { detailJson } from "./detail.ts";
import { dropRecord, writeRecord } from "./journal.ts";
import type { SubmissionPlan } from "./parse-protocol.ts";
import type { IntakeWorld } from "./ports.ts";
import { rejectDuplicate, type TakeUpOutcome } from "./refuse.ts";
import type { RipeFile } from "./scan.ts";

/** A submission whose directory is there but for the last of its files. */
export interface Staged {
  id: string;
  name: string;
  sha256: string;
  plan: SubmissionPlan;
  /** Absolute. */
  directory: string;
}

/** Notes what is begun, then begins the directory; what a crash leaves of it, the journal undoes. */
export async function stage(
  { disk, paths }: IntakeWorld,
  { id, name, sha256, plan }: Omit<Staged, "directory">,
  at_ms: number,
): Promise<Staged> {
  const storing = { submission_id: id, directory: plan.directory };
  try {
    writeRecord(disk, paths, { schema_version: 1, sha256, name, at_ms, strikes: 0, storing });
  } catch (error) {
    // A disk that fails is no strike against a text that was parsed.
    dropRecord(disk, paths, sha256);
    throw error;
  }
  const directory = join(paths.runs_dir, plan.directory);
  disk.mkdir(directory, 0o755);
  const directories = new Set([directory]);
  const files: string[] = [];
  for (const { path, bytes } of plan.files.slice(0, -1)) {
    const file = join(directory, path);
    if (!directories.has(dirname(file))) disk.mkdir(dirname(file), 0o755);
    directories.add(dirname(file));
    disk.create(file, bytes, 0o644);
    files.push(file);
  }
  await disk.sync([...files, ...directories]);
  return { id, name, sha256, plan, directory };
}

/** With the last file the directory counts as whole, so the others are there before it. */
async function writeLast({ disk, paths }: IntakeWorld, { plan, directory }: Staged): Promise<void> {
  const files: string[] = [];
  for (const { path, bytes } of plan.files.slice(-1)) {
    disk.create(join(directory, path), bytes, 0o644);
    files.push(join(directory, path));
  }
  await disk.sync([...files, directory, paths.runs_dir]);
}

/** Ends the directory, then stores the jobs. */
export async function storeStaged(
  world: IntakeWorld,
  file: RipeFile,
  staged: Staged,
  accepted_at_ms: number,
): Promise<TakeUpOutcome> {
  const { disk, paths } = world;
  const { id, sha256, plan, directory } = staged;
  await writeLast(world, staged);
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
