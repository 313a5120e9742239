import { dirname, join } from "node:path";
import { isObject } from "../core/is-object.ts";
import type { LiveFacts } from "./allowed.ts";

// What was seen at the last look, so that a probe's hiccup moves no number and a clock that is set
// back makes no old evidence young. Worth nothing after a power cut, so it is not synced.

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { mkdirSync, readFileSync, renameSync, writeFileSync } = process.getBuiltinModule("node:fs");

/** So long what a runner said still counts when it does not answer, seconds of this boot. */
const HOLD_S = 600;
/** A clock is corrected by a little all the time. */
const CLOCK_SLACK_MS = 300_000;
/** The file is not written again for less than this. */
const REFRESH_S = 30;

interface SeenLive {
  facts: LiveFacts;
  /** Seconds since the boot. */
  uptime_s: number;
}

export interface Seen {
  boot_id: string;
  live: Record<string, SeenLive>;
  /** Latest wall clock time, and hash of the evidence that was answered from then. */
  latest: Record<string, number>;
}

export function seenPath(state_dir: string): string {
  return join(state_dir, "slots", "seen.json");
}

/** Nothing seen where the file is missing or broken. What was read in another boot is not kept. */
export function readSeen(path: string, boot_id: string): Seen {
  const none: Seen = { boot_id, live: {}, latest: {} };
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isObject(value) || !isObject(value["latest"])) return none;
    const latest = value["latest"] as Seen["latest"];
    const same = value["boot_id"] === boot_id && isObject(value["live"]);
    return { boot_id, live: same ? (value["live"] as Seen["live"]) : {}, latest };
  } catch {
    return none;
  }
}

/** What a runner said at most `HOLD_S` ago, with its age. */
export function heldLive(
  seen: Seen,
  name: string,
  uptime_s: number,
): { facts: LiveFacts; age_s: number } | null {
  const last = seen.live[name];
  if (last === undefined) return null;
  const age_s = uptime_s - last.uptime_s;
  return age_s >= 0 && age_s <= HOLD_S ? { facts: last.facts, age_s } : null;
}

/**
 * The latest time that was seen together with this evidence, where the clock is behind it now. New
 * evidence was measured after the clock was set, whatever it shows.
 */
export function clockBehind(seen: Seen, sha256: string, now_ms: number): number | null {
  const latest_ms = seen.latest[sha256];
  if (latest_ms === undefined || now_ms >= latest_ms - CLOCK_SLACK_MS) return null;
  return latest_ms;
}

/** Writes down what was seen, where that is something new. Trouble is no trouble of the answer. */
export function writeSeen(
  path: string,
  before: Seen,
  now: {
    name: string;
    facts: LiveFacts | null;
    uptime_s: number;
    now_ms: number;
    /** Hashes of the evidence there is; others are forgotten. */
    evidence: readonly string[];
  },
): void {
  const { name, facts, uptime_s, now_ms } = now;
  const latest = Object.fromEntries(
    now.evidence.map((sha256) => [sha256, Math.max(before.latest[sha256] ?? 0, now_ms)]),
  );
  const last = before.live[name];
  const known =
    facts === null ||
    (last !== undefined &&
      uptime_s - last.uptime_s < REFRESH_S &&
      JSON.stringify(last.facts) === JSON.stringify(facts));
  const dated =
    Object.keys(before.latest).length === now.evidence.length &&
    Object.entries(latest).every(
      ([sha256, time]) => time - (before.latest[sha256] ?? 0) < REFRESH_S * 1000,
    );
  if (known && dated) return;
  const live = facts === null ? before.live : { ...before.live, [name]: { facts, uptime_s } };
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const seen: Seen = { boot_id: before.boot_id, live, latest };
    writeFileSync(temporary, JSON.stringify(seen), { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    // A full disk: the next look tries again.
  }
}
