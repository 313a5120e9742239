import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { systemErrorCode } from "../core/errors.ts";
import { createFileAtomic, ensureDir, readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { withReserve } from "../core/reserve.ts";
import { evidenceSvg } from "./chart.ts";
import { evidenceText } from "./document.ts";
import type { CommitFile } from "./git-commit.ts";
import { evidenceMarkdown } from "./markdown.ts";
import { LAST_ATTEMPT, OUTBOX_DIR, outboxNames } from "./outbox-state.ts";
import { evidencePath, publicKeyPath } from "./paths.ts";
import { evidenceSchema, type Evidence } from "./schema.ts";

/** What waits to be committed. One file, so that it is there whole or not at all. */
export interface OutboxEntry {
  /** Name of its file in the outbox. */
  name: string;
  /** Path in the repository from the station's root, less the ending. */
  path: string;
  /** What was recommended for this device and model before; null where nothing was. */
  previous: number | null;
  public_pem: string;
  evidence: Evidence;
}

export function outboxDir(state_dir: string): string {
  return join(state_dir, OUTBOX_DIR);
}

/** Puts evidence into the outbox, durably, under a name that nothing else has. */
export function putInOutbox(
  state_dir: string,
  evidence: Evidence,
  about: { previous: number | null; public_pem: string },
): OutboxEntry {
  const directory = outboxDir(state_dir);
  ensureDir(directory, 0o700);
  for (let again = 1; ; again += 1) {
    const path = evidencePath(evidence, again);
    const name = `${basename(path)}.json`;
    const { previous, public_pem } = about;
    try {
      const text = JSON.stringify({ path, previous, public_pem, evidence });
      // Hours of measuring stand in it.
      withReserve(state_dir, () => createFileAtomic(join(directory, name), text, 0o600));
      return { name, path, previous, public_pem, evidence };
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
  }
}

/** The entries that wait, oldest first. One that cannot be read is named and left where it is. */
export function outboxEntries(state_dir: string): {
  entries: OutboxEntry[];
  unreadable: string[];
} {
  const entries: OutboxEntry[] = [];
  const unreadable: string[] = [];
  for (const name of outboxNames(state_dir)) {
    const text = readTextIfThere(join(outboxDir(state_dir), name));
    if (text === undefined) continue; // another process has just committed it
    try {
      const value = JSON.parse(text) as OutboxEntry;
      entries.push({ ...value, name, evidence: evidenceSchema.parse(value.evidence) });
    } catch {
      unreadable.push(name);
    }
  }
  return { entries, unreadable };
}

export function takeFromOutbox(state_dir: string, name: string): void {
  rmSync(join(outboxDir(state_dir), name), { force: true });
}

/** Writes down what stood in the way, for `status`; null: nothing did. */
export function noteAttempt(state_dir: string, reason: string | null, now_ms: number): void {
  mkdirSync(outboxDir(state_dir), { recursive: true, mode: 0o700 });
  const path = join(outboxDir(state_dir), LAST_ATTEMPT);
  writeFileAtomic(path, JSON.stringify({ at: isoTime(now_ms), reason }), 0o600);
}

/** The files of one piece of evidence as they are committed. */
export function filesOf({ path, public_pem, evidence }: OutboxEntry): CommitFile[] {
  const device = path.split("/")[1] ?? "";
  return [
    { path: publicKeyPath(device), text: public_pem },
    { path: `${path}.json`, text: evidenceText(evidence) },
    { path: `${path}.md`, text: evidenceMarkdown(evidence, `${basename(path)}.svg`) },
    { path: `${path}.svg`, text: evidenceSvg(evidence) },
  ];
}
