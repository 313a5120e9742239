import { sha256Hex } from "../core/json.ts";
import { dropRecord, readRecord, settleRecord } from "./journal.ts";
import { parseText, type ReadText } from "./parse-text.ts";
import type { IntakeWorld } from "./ports.ts";
import { readRipe } from "./read-file.ts";
import { openTwin, reject, rejectDuplicate, type TakeUpOutcome } from "./refuse.ts";
import { refusal } from "./refusal.ts";
import type { RipeFile } from "./scan.ts";
import { stage, storeStaged } from "./stage.ts";

/** A text that cost so many parsers, or daemons, is not parsed again. */
const MAX_STRIKES = 2;

async function parse(
  world: IntakeWorld,
  file: RipeFile,
  read: ReadText,
  signal: AbortSignal,
): Promise<TakeUpOutcome> {
  const { sha256 } = read;
  const { outcome, id, created_ms, strikes } = await parseText(world, file, read, { signal });
  switch (outcome.kind) {
    case "plan": {
      world.onStoring?.();
      const { plan } = outcome;
      const staged = await stage(world, { id, name: file.name, sha256, plan }, created_ms);
      return storeStaged(world, file, staged, created_ms);
    }
    case "refused":
      dropRecord(world.disk, world.paths, sha256);
      return reject(world, file, outcome.refusal, sha256);
    case "died":
      if (strikes < MAX_STRIKES) return { kind: "waits", why: outcome.message };
      return quarantine(world, file, sha256, outcome.message);
    case "unavailable":
      return { kind: "trouble", message: outcome.message };
    case "stopped":
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
