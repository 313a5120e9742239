import { join } from "node:path";
import { ensureDirSynced, TEMPORARY_SUFFIX, unlinkIfThere } from "../core/disk.ts";
import { errorMessage } from "../core/errors.ts";
import { ensureJournal, settleJournal } from "./journal.ts";
import { finishSubmission, mendRejected } from "./placing.ts";
import type { IntakeWorld } from "./ports.ts";

export interface RecoveryReport {
  /**
   * Submissions whose taking-up a crash had cut short after they were stored. Null where that could
   * not be settled yet, since runs cannot be looked at.
   */
  accepted: string[] | null;
  /** Submissions whose files were put away only now. */
  placed: string[];
  /** What could not be put right yet; it is tried again after each end of a submission. */
  troubles: string[];
}

function dropTemporaries(world: IntakeWorld): void {
  const { disk, paths } = world;
  for (const folder of ["done", "failed"]) {
    const path = join(paths.inbox, folder);
    if (disk.lstat(path)?.kind !== "directory") continue;
    for (const name of disk.readdir(path)) {
      if (name.startsWith(".") && name.endsWith(TEMPORARY_SUFFIX)) {
        unlinkIfThere(disk, join(path, name));
      }
    }
  }
}

/** Puts away the files of all submissions that have ended. Trouble with one keeps no other. */
export async function finishEnded(
  world: IntakeWorld,
): Promise<Pick<RecoveryReport, "placed" | "troubles">> {
  const placed: string[] = [];
  const troubles: string[] = [];
  for (const { id } of await world.store.submissions({ open: false, placed: false })) {
    try {
      if ((await finishSubmission(world, id)) !== null) placed.push(id);
    } catch (error) {
      troubles.push(`submission ${id}: its file cannot be put away: ${errorMessage(error)}`);
    }
  }
  return { placed, troubles };
}

/**
 * Puts right what a crash left half done: takings-up, rejections, files of ended submissions. To be
 * called before the first scan; may be called again. Throws where disk or store fail.
 */
export async function recoverIntake(world: IntakeWorld): Promise<RecoveryReport> {
  const { disk, paths } = world;
  ensureDirSynced(disk, paths.inbox, 0o755);
  ensureJournal(disk, paths);
  // Where the runs are away, directories that were begun only seem to be gone.
  const settled = world.trust.inbox() === null ? await settleJournal(world) : null;
  mendRejected(world);
  dropTemporaries(world);
  const { placed, troubles } = await finishEnded(world);
  return {
    accepted: settled?.accepted ?? null,
    placed,
    troubles: [...(settled?.troubles ?? []), ...troubles],
  };
}
