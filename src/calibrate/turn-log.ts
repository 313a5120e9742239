import { join } from "node:path";
import { ensureDir, JsonLinesWriter } from "../core/files.ts";
import type { TurnOutcome } from "./device.ts";

/** One counted turn as it is kept; no text of prompt or answer is in it. */
export interface TurnRow extends TurnOutcome {
  /** Wall clock of the period's end, milliseconds since the epoch. */
  period_ended_at_ms: number;
  slots: number;
  context_per_slot: number;
  workers: number;
  disturbed: string | null;
}

export interface TurnLog {
  append: (rows: readonly TurnRow[]) => void;
  close: () => void;
}

/** Appends to `DIR/turns.jsonl`; made where it is missing, gone on with where it is there. */
export function openTurnLog(dir: string): TurnLog & { path: string } {
  ensureDir(dir);
  const path = join(dir, "turns.jsonl");
  const writer = new JsonLinesWriter(path);
  return {
    path,
    append(rows) {
      for (const row of rows) writer.append(row);
      writer.sync();
    },
    close: () => writer.close(),
  };
}
