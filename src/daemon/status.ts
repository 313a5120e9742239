import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import { isAlive } from "../core/process-table.ts";
import type { OutboxState } from "../evidence/light.ts";
import type { JobState } from "../queue/light.ts";
import { readFigures, type Blocked } from "../store/light.ts";
import { stateFiles } from "./files.ts";
import { readSnapshot, type DaemonSnapshot, type RunningSnapshot } from "./snapshot.ts";

interface InboxFile {
  name: string;
  /** When it may be taken up at the earliest, RFC 3339; null: no daemon looks. */
  ripe: string | null;
}

/** What `status --json` prints. Times are RFC 3339. */
export interface StationStatus {
  root: string;
  state_dir: string;
  daemon: {
    running: boolean;
    pid: number | null;
    since: string | null;
    phase: DaemonSnapshot["phase"] | null;
    stopping: boolean;
  };
  /** Why nothing runs, in one line; null while a job runs. */
  why_idle: string | null;
  running: RunningSnapshot | null;
  counts: Record<JobState, number> | null;
  blocked: Blocked | null;
  inbox: InboxFile[];
  /** Why nothing is taken up; null where files are. */
  inbox_blocked: string | null;
  warnings: DaemonSnapshot["warnings"];
  /** Why the store cannot be read; null where it can, and where there is none yet. */
  store_trouble: string | null;
  /** Evidence that is written and not yet in git; null where nothing waits. */
  evidence_waiting: OutboxState | null;
}

const QUEUE_FILE = /^[^.].*\.(?:ya?ml|json)$/i;

function inboxFiles(
  inbox: string,
  min_age_ms: number | null,
  taken: ReadonlySet<string>,
  now_ms: number,
): InboxFile[] {
  const files: InboxFile[] = [];
  for (const name of names(inbox)) {
    if (!QUEUE_FILE.test(name) || taken.has(name)) continue;
    const stat = lstatSync(join(inbox, name), { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) continue;
    const at_rest_ms = Math.min(now_ms, Math.max(stat.mtimeMs, stat.ctimeMs));
    files.push({ name, ripe: min_age_ms === null ? null : isoTime(at_rest_ms + min_age_ms) });
  }
  return files;
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

function jobs(n: number): string {
  return n === 1 ? "1 job" : `${n} jobs`;
}

/** What keeps the jobs that are there from being claimed. */
function whyBlocked(blocked: Blocked): string {
  const { not_due, next_due_ms, held, waiting_on_others, other_runner } = blocked;
  const parts: string[] = [];
  if (not_due > 0) {
    const until = next_due_ms === null ? "" : ` until ${isoTime(next_due_ms)}`;
    parts.push(`${jobs(not_due)} not due${until}`);
  }
  if (held > 0) parts.push(`${jobs(held)} held (touchstoned queue release ID)`);
  if (other_runner > 0) {
    parts.push(`${jobs(other_runner)} for runners that machine.yaml does not declare`);
  }
  if (waiting_on_others > 0) parts.push(`${jobs(waiting_on_others)} waiting for others`);
  return parts.length === 0 ? "idle, the queue is empty" : parts.join("; ");
}

/** One line on why nothing runs; the first thing that stands in the way. */
function whyIdle(snapshot: DaemonSnapshot | null, blocked: Blocked | null): string | null {
  if (snapshot === null) return "the daemon is not running (touchstoned daemon)";
  if (snapshot.running !== null) return null;
  if (snapshot.stop !== "none") return "the daemon is stopping";
  if (blocked === null) return "the store cannot be read";
  if (blocked.queue_held_at_ms !== null) {
    const since = isoTime(blocked.queue_held_at_ms);
    return `the queue is held since ${since} (touchstoned queue release)`;
  }
  if (snapshot.disk_low !== null) return snapshot.disk_low;
  if (snapshot.lock_held !== null) return `waiting for the model lock, ${snapshot.lock_held}`;
  if (blocked.ready > 0) return `${jobs(blocked.ready)} about to start`;
  return whyBlocked(blocked);
}

/** Only a station that has measured something pays for what looks after it. */
async function evidenceWaiting(state_dir: string): Promise<OutboxState | null> {
  if (!existsSync(join(state_dir, "outbox"))) return null;
  const { outboxState } = await import("../evidence/light.ts");
  const state = outboxState(state_dir);
  return state.waiting === 0 ? null : state;
}

interface StatusOptions {
  root: string;
  state_dir: string;
  now_ms: number;
}

/** Everything that `status` says. Reads files only, takes no lock, changes nothing. */
export async function readStatus({
  root,
  state_dir,
  now_ms,
}: StatusOptions): Promise<StationStatus> {
  const files = stateFiles(state_dir);
  const last = readSnapshot(files.snapshot);
  const live = last !== undefined && isAlive(last.process) ? last : null;
  const can = { runners: last?.runners ?? [] };
  let figures: Awaited<ReturnType<typeof readFigures>>;
  let store_trouble: string | null = null;
  try {
    figures = await readFigures(files.store, now_ms, can);
  } catch (error) {
    store_trouble = errorMessage(error);
  }
  const taken = new Set(figures?.in_inbox);
  const min_age_ms = live?.inbox.min_age_ms ?? null;
  const blocked = figures?.blocked ?? null;
  return {
    root,
    state_dir,
    daemon: {
      running: live !== null,
      pid: live?.process.pid ?? null,
      since: live?.started ?? null,
      phase: live?.phase ?? null,
      stopping: live !== null && live.stop !== "none",
    },
    why_idle: whyIdle(live, blocked),
    running: live?.running ?? null,
    counts: figures?.counts ?? null,
    blocked,
    inbox: inboxFiles(join(root, "inbox"), min_age_ms, taken, now_ms),
    inbox_blocked: live?.inbox.blocked ?? null,
    warnings: live?.warnings ?? [],
    store_trouble,
    evidence_waiting: await evidenceWaiting(state_dir),
  };
}
