import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import { isAlive } from "../core/process-table.ts";
import type { OutboxState } from "../evidence/light.ts";
import { judgeName } from "../intake/light.ts";
import { keeperOf } from "../station/light.ts";
import type { JobState } from "../queue/light.ts";
import { readFigures, type Blocked } from "../store/light.ts";
import { stateFiles } from "./files.ts";
import type { IdleSnapshot } from "./idle/snapshot.ts";
import type { ScheduledView } from "./schedule.ts";
import { readSnapshot, type DaemonSnapshot, type RunningSnapshot } from "./snapshot.ts";
import { HOW_TO_START, muteText, whatIsWrong } from "./status-wrong.ts";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { existsSync, lstatSync, readdirSync } = process.getBuiltinModule("node:fs");

interface InboxFile {
  name: string;
  /** When it may be taken up at the earliest, RFC 3339; null: no daemon looks, or see `stuck`. */
  ripe: string | null;
  /** Why it is not taken up as it is; null where it will be. */
  stuck: string | null;
}

export interface MuteDaemon {
  pid: number;
  /** It took the lock just now: it may be about to speak. */
  begins: boolean;
}

/** What `status --json` prints. Times are RFC 3339. */
export interface StationStatus {
  root: string;
  state_dir: string;
  /** What a person has to see to, in one line; null while everything goes on by itself. */
  wrong: string | null;
  daemon: {
    running: boolean;
    pid: number | null;
    since: string | null;
    phase: DaemonSnapshot["phase"] | null;
    stopping: boolean;
    /** One that holds the station's lock and has said nothing of itself; absent or null: none. */
    mute?: MuteDaemon | null;
  };
  /** Why nothing runs, in one line; null while a job runs, or what idle hours are for. */
  why_idle: string | null;
  running: RunningSnapshot | null;
  /** What the daemon does by itself, as nothing waits; null where it does nothing. */
  idle_work: IdleSnapshot["doing"];
  /** Open requests for a measurement that are not worked at, and why. */
  measurements_wait: IdleSnapshot["waiting"];
  /** A step that measures although the daemon that began it is dead. */
  orphan: { job_id: string; step: string; pid: number } | null;
  counts: Record<JobState, number> | null;
  blocked: Blocked | null;
  inbox: InboxFile[];
  /** What `schedule:` of touchstoned.yaml drops next; empty where no daemon runs. */
  schedule: readonly ScheduledView[];
  /** Why nothing is taken up; null where files are. */
  inbox_blocked: string | null;
  warnings: DaemonSnapshot["warnings"];
  /** Why the store cannot be read; null where it can, and where there is none yet. */
  store_trouble: string | null;
  /** Evidence that is written and not yet in git; null where nothing waits. */
  evidence_waiting: OutboxState | null;
}

function inboxFiles(
  inbox: string,
  { live, taken, now_ms }: { live: DaemonSnapshot | null; taken: Set<string>; now_ms: number },
): InboxFile[] {
  const files: InboxFile[] = [];
  for (const name of names(inbox)) {
    const verdict = judgeName(name);
    if (verdict.kind === "ignored" || taken.has(name)) continue;
    if (verdict.kind === "odd") {
      files.push({ name, ripe: null, stuck: `left in place: ${verdict.why}` });
      continue;
    }
    const stat = lstatSync(join(inbox, name), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.isDirectory()) {
      files.push({ name, ripe: null, stuck: "left in place: it is a directory" });
      continue;
    }
    const at_rest_ms = Math.min(now_ms, Math.max(stat.mtimeMs, stat.ctimeMs));
    const blocked = live !== null && live.inbox.blocked !== null;
    const stuck = blocked ? "waits: nothing is taken up now" : (live?.inbox.stuck?.[name] ?? null);
    const looks = live !== null && stuck === null;
    const ripe = looks ? isoTime(at_rest_ms + live.inbox.min_age_ms) : null;
    files.push({ name, ripe, stuck });
  }
  return files;
}

/** So long a daemon may take to say its first word. */
const BEGINNING_MS = 20_000;

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
  const { not_due, next_due_ms, held, waiting_on_others, other_runner, too_big } = blocked;
  const parts: string[] = [];
  if (not_due > 0) {
    const until = next_due_ms === null ? "" : ` until ${isoTime(next_due_ms)}`;
    parts.push(`${jobs(not_due)} not due${until}`);
  }
  if (held > 0) parts.push(`${jobs(held)} held (touchstoned queue release ID)`);
  if (other_runner > 0) {
    parts.push(`${jobs(other_runner)} for runners that machine.yaml does not declare`);
  }
  if (too_big > 0) {
    parts.push(
      `${jobs(too_big)} whose model needs more memory than this machine has ` +
        "(touchstoned queue list)",
    );
  }
  if (waiting_on_others > 0) parts.push(`${jobs(waiting_on_others)} waiting for others`);
  return parts.length === 0 ? "idle, the queue is empty" : parts.join("; ");
}

/** `2026-11-29T20:00:00.000Z (21:00 here)`: the window is written in local time. */
function whyClosed(ready: number, opens: string): string {
  const here = new Date(opens).toTimeString().slice(0, 5);
  const wait = ready === 1 ? "waits" : "wait";
  return `${jobs(ready)} ${wait} for the window, which opens at ${opens} (${here} here)`;
}

/** One line on why nothing runs; the first thing that stands in the way. */
function whyIdle(
  snapshot: DaemonSnapshot | null,
  blocked: Blocked | null,
  orphan: StationStatus["orphan"],
  mute: MuteDaemon | null,
): string | null {
  if (snapshot === null) {
    if (mute !== null) return muteText(mute);
    const runs_on =
      orphan === null
        ? ""
        : `, but the ${orphan.step} of job ${orphan.job_id} runs on (pid ${orphan.pid}): the next daemon takes it over`;
    return `the daemon is not running (${HOW_TO_START})${runs_on}`;
  }
  if (snapshot.running !== null) return null;
  if (snapshot.idle?.doing != null) return null;
  if (snapshot.stop !== "none") return "the daemon is stopping";
  if (blocked === null) return "the store cannot be read";
  if (blocked.queue_held_at_ms !== null) {
    const since = isoTime(blocked.queue_held_at_ms);
    return `the queue is held since ${since} (touchstoned queue release)`;
  }
  if (snapshot.barred !== null) return snapshot.barred;
  if (snapshot.window_opens != null && blocked.ready > 0) {
    return whyClosed(blocked.ready, snapshot.window_opens);
  }
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

/** Loaded only where no daemon runs: it brings along what is needed to write such a record. */
async function orphanOf(running_path: string): Promise<StationStatus["orphan"]> {
  if (!existsSync(running_path)) return null;
  const { readRunning } = await import("./running-record.ts");
  const record = readRunning(running_path);
  if (record === undefined || record.root === null || !isAlive(record.root)) return null;
  return { job_id: record.job_id, step: record.kind, pid: record.root.pid };
}

/** Whoever holds the lock without a word: a full disk keeps even the first snapshot from being written. */
async function muteDaemon(lock: string, now_ms: number): Promise<MuteDaemon | null> {
  if (!existsSync(lock)) return null;
  const keeper = await keeperOf(lock);
  if (keeper === undefined || (keeper.purpose ?? "daemon") !== "daemon") return null;
  const { pid, since } = keeper;
  return { pid, begins: since !== null && now_ms - Date.parse(since) < BEGINNING_MS };
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
  const can = { runners: last?.runners ?? [], memory_mb: last?.memory_mb ?? null };
  let figures: Awaited<ReturnType<typeof readFigures>>;
  let store_trouble: string | null = null;
  try {
    figures = await readFigures(files.store, now_ms, can);
  } catch (error) {
    store_trouble = errorMessage(error);
  }
  const taken = new Set(figures?.in_inbox);
  if (figures === undefined && live !== null && !existsSync(files.store)) {
    store_trouble ??= `${files.store} is gone while the daemon runs; start it again: it makes a new one from the files`;
  }
  const blocked = figures?.blocked ?? null;
  const orphan = live === null ? await orphanOf(files.running) : null;
  const mute = live === null ? await muteDaemon(files.lock, now_ms) : null;
  const status = {
    root,
    state_dir,
    daemon: {
      running: live !== null,
      pid: live?.process.pid ?? null,
      since: live?.started ?? null,
      phase: live?.phase ?? null,
      stopping: live !== null && live.stop !== "none",
      mute,
    },
    orphan,
    why_idle: whyIdle(live, blocked, orphan, mute),
    running: live?.running ?? null,
    idle_work: live?.idle?.doing ?? null,
    measurements_wait: live?.idle?.waiting ?? [],
    counts: figures?.counts ?? null,
    blocked,
    inbox: inboxFiles(join(root, "inbox"), { live, taken, now_ms }),
    schedule: live?.schedule ?? [],
    inbox_blocked: live?.inbox.blocked ?? null,
    warnings: live?.warnings ?? [],
    store_trouble,
    evidence_waiting: await evidenceWaiting(state_dir),
  };
  return { ...status, wrong: whatIsWrong(status, live, now_ms) };
}
