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

/**
 * Parses in a child; that it was begun is noted before the child sees the text, and stays where the
 * child dies of it, or we do. Whatever else ends it, an orderly stop or a disk that fails, says nothing
 * about the text.
 */
export async function parseText(
  world: IntakeWorld,
  file: RipeFile,
  read: ReadText,
  how: { signal: AbortSignal; limit_s?: number },
): Promise<Parsed> {
  const { disk, paths } = world;
  const { bytes, sha256 } = read;
  const id = world.new_id();
  const created_ms = world.clock.now_ms();
  const strikes = read.strikes + 1;
  const forget = (): void => {
    if (read.strikes === 0) dropRecord(disk, paths, sha256);
    else writeRecord(disk, paths, begun(file, sha256, created_ms, read.strikes));
  };
  let noted: Promise<void> | undefined;
  try {
    const outcome = await world.parser.parse(
      {
        schema_version: 1,
        id,
        path: file.path,
        bytes_base64: bytes.toString("base64"),
        created_ms,
      },
      {
        ...how,
        beforeText() {
          noted = noteRecord(disk, paths, begun(file, sha256, created_ms, strikes));
          noted.catch(() => undefined); // it is waited for below
        },
      },
    );
    await noted;
    if (outcome.kind === "stopped") forget();
    return { outcome, id, created_ms, strikes };
  } catch (error) {
    try {
      if (noted !== undefined) forget();
    } catch {
      // What went wrong first is what is said.
    }
    throw error;
  }
}
