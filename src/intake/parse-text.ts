import { dropRecord, noteRecord, writeRecord, type JournalRecord } from "./journal.ts";
import type { ParseOutcome } from "./parser.ts";
import type { IntakeWorld } from "./ports.ts";
import type { RipeFile } from "./scan.ts";

/** What was read of a file at rest. */
export interface ReadText {
  bytes: Buffer;
  sha256: string;
  /** Parsings of these bytes that had no end. */
  strikes: number;
}

function begun(file: RipeFile, sha256: string, at_ms: number, strikes: number): JournalRecord {
  return { schema_version: 1, sha256, name: file.name, at_ms, strikes, storing: null };
}

interface Parsed {
  outcome: ParseOutcome;
  /** Of the submission that it may become. */
  id: string;
  created_ms: number;
  /** Parsings of these bytes without an end, this one among them. */
  strikes: number;
}

/** Parses in a child; that it was begun is noted before the child sees the text. */
export async function parseText(
  world: IntakeWorld,
  file: RipeFile,
  read: ReadText,
  signal: AbortSignal,
): Promise<Parsed> {
  const { disk, paths } = world;
  const { bytes, sha256 } = read;
  const id = world.new_id();
  const created_ms = world.clock.now_ms();
  const strikes = read.strikes + 1;
  let noted: Promise<void> | undefined;
  const outcome = await world.parser.parse(
    { schema_version: 1, id, path: file.path, bytes_base64: bytes.toString("base64"), created_ms },
    {
      signal,
      beforeText() {
        noted = noteRecord(disk, paths, begun(file, sha256, created_ms, strikes));
        noted.catch(() => undefined); // it is waited for below
      },
    },
  );
  await noted;
  if (outcome.kind === "refused") dropRecord(disk, paths, sha256);
  if (outcome.kind === "stopped") {
    // An orderly stop says nothing about the text.
    if (read.strikes === 0) dropRecord(disk, paths, sha256);
    else writeRecord(disk, paths, begun(file, sha256, created_ms, read.strikes));
  }
  return { outcome, id, created_ms, strikes };
}
