import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readTextIfThere } from "../core/files.ts";

export const OUTBOX_DIR = "outbox";
export const LAST_ATTEMPT = "last-attempt.json";
const ENTRY = /^[0-9TZ-]+-[0-9a-f]{8}(?:-\d+)?\.json$/;

/** What waits for git, and what stood in the way the last time. */
export interface OutboxState {
  waiting: number;
  /** Why the first of them could not be committed; null where that was not tried or nothing waits. */
  reason: string | null;
  tried_at: string | null;
}

/** Names of the entries of an outbox, oldest first. */
export function outboxNames(state_dir: string): string[] {
  try {
    return (
      readdirSync(join(state_dir, OUTBOX_DIR))
        .filter((name) => ENTRY.test(name))
        // By what stands before the ending: "-2" was the second of its second.
        .sort((a, b) => (a.slice(0, -5) < b.slice(0, -5) ? -1 : 1))
    );
  } catch {
    return []; // nothing was ever put there
  }
}

function lastAttempt(state_dir: string): { reason: string | null; at: string | null } {
  const text = readTextIfThere(join(state_dir, OUTBOX_DIR, LAST_ATTEMPT));
  try {
    const value: unknown = JSON.parse(text ?? "null");
    if (typeof value !== "object" || value === null) return { reason: null, at: null };
    const { reason, at } = value as { reason?: unknown; at?: unknown };
    return {
      reason: typeof reason === "string" ? reason : null,
      at: typeof at === "string" ? at : null,
    };
  } catch {
    return { reason: null, at: null };
  }
}

/** Evidence that is written but not yet in git: "not committed yet" in every answer from it. */
export function outboxState(state_dir: string): OutboxState {
  const waiting = outboxNames(state_dir).length;
  const { reason, at } = lastAttempt(state_dir);
  return { waiting, reason: waiting === 0 ? null : reason, tried_at: at };
}
