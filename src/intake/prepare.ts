import { sha256Hex } from "../core/json.ts";
import { dropRecord, readRecord, settleRecord } from "./journal.ts";
import { parseText } from "./parse-text.ts";
import type { PlanBasis } from "./parser.ts";
import type { IntakeWorld } from "./ports.ts";
import { readRipe } from "./read-file.ts";
import { openTwin, type TakeUpOutcome } from "./refuse.ts";
import type { RipeFile } from "./scan.ts";
import { stage, storeStaged, type Staged } from "./stage.ts";

/** All of taking up but its end, done while the file still rests. */
export interface Prepared extends Staged {
  /** Of the file, when it was read. */
  key: string;
  basis: PlanBasis;
}

/** A text that takes longer is parsed when it is ripe, by the usual limit: nothing waits for this one. */
const LIMIT_S = 2;

/** Undoes what was prepared. Throws where disk or store fail; the journal then still has it. */
export async function dropPrepared(
  world: IntakeWorld,
  { id, sha256 }: Pick<Staged, "id" | "sha256">,
): Promise<void> {
  const record = readRecord(world.disk, world.paths, sha256);
  // It may be another daemon's by now.
  if (record?.storing?.submission_id === id) await settleRecord(world, record);
}

/**
 * Does what takes long in taking up before the file is at rest for long enough: parses it, and writes
 * its directory but for the last file. Null where it is not to be had so: a fault is said when the
 * file is ripe, and by then it may have been mended. Throws where the disk fails.
 */
export async function prepareFile(
  world: IntakeWorld,
  file: RipeFile,
  signal: AbortSignal,
): Promise<Prepared | null> {
  const { disk, paths, parser } = world;
  const reading = readRipe(disk, file, world.trust);
  if (reading.kind !== "read") return null;
  const { bytes } = reading;
  const sha256 = sha256Hex(bytes);
  // With a past, or a twin, it is not the plain case that this is for.
  if (readRecord(disk, paths, sha256) !== undefined) return null;
  if ((await openTwin(world, file, sha256)) !== undefined) return null;
  const read = { bytes, sha256, strikes: 0 };
  const how = { signal, limit_s: LIMIT_S };
  const { outcome, id, created_ms } = await parseText(world, file, read, how);
  if (outcome.kind !== "plan" || !parser.holds(outcome.basis)) {
    // Not even a parser that died counts: that text has its two tries when it is ripe.
    dropRecord(disk, paths, sha256);
    return null;
  }
  const { plan, basis } = outcome;
  try {
    const staged = await stage(world, { id, name: file.name, sha256, plan }, created_ms);
    return { ...staged, key: file.key, basis };
  } catch (error) {
    await dropPrepared(world, { id, sha256 });
    throw error;
  }
}

/**
 * Ends what was prepared, now that the file is ripe: where file, settings and what it names are all
 * what they were. Null where they are not; the file is then to be taken up as if nothing had been
 * prepared. Throws as `takeUpFile` does.
 */
export async function takeUpPrepared(
  world: IntakeWorld,
  file: RipeFile,
  prepared: Prepared,
): Promise<TakeUpOutcome | null> {
  const reading = readRipe(world.disk, file, world.trust);
  const same = reading.kind === "read" && sha256Hex(reading.bytes) === prepared.sha256;
  const twin = same ? await openTwin(world, file, prepared.sha256) : undefined;
  if (!same || twin !== undefined || !world.parser.holds(prepared.basis)) {
    await dropPrepared(world, prepared);
    return null;
  }
  world.onStoring?.();
  return storeStaged(world, file, prepared, world.clock.now_ms());
}
