import { existsSync, watch } from "node:fs";
import { dirname } from "node:path";
import { uptime } from "node:os";
import type { Clock } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import { fileLog, type Log } from "../core/log.ts";
import { Inbox, watchInbox } from "../intake/index.ts";
import { keepAwake } from "../probes/index.ts";
import { requireRuns, resolveLockPath, runsFault, type Station } from "../station/index.ts";
import type { Job } from "../queue/index.ts";
import { claimDirectory } from "../steps/index.ts";
import { openSqliteStore, type Store } from "../store/index.ts";
import { wasHeld } from "./files.ts";
import { Configuration } from "./configuration.ts";
import { JobRun, type JobPlaceFault } from "./job-run.ts";
import { Loop } from "./loop.ts";
import { modelMemoryMb } from "./model-memory.ts";
import { adoptOrphan } from "./orphan.ts";
import { beatOnce, heartbeat, registerOwner, type Registered } from "./owner.ts";
import { rebuildStore, type RebuildReport } from "./rebuild.ts";
import { Report } from "./report.ts";
import { intakeWorld, openSetting, requireTrust, takeDaemonLock, type Setting } from "./setting.ts";
import { guardState } from "./state-guard.ts";
import { Summaries } from "./summaries.ts";

export interface DaemonOptions {
  station: Station;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  /** Gives the handler of signals: `stop` comes once for each request. */
  onSignals: (handler: { stop: () => void; rescan: () => void }) => void;
  say: (text: string) => void;
  random?: () => number;
}

/** What was opened, to be closed in reverse. */
class Unwinder {
  readonly #steps: (() => void | Promise<void>)[] = [];

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step);
  }

  /** Trouble with one keeps no other from being closed. */
  async run(log: Log): Promise<void> {
    for (const step of this.#steps.reverse()) {
      try {
        await step();
      } catch (error) {
        log.warn({ error: errorMessage(error) }, "could not be closed");
      }
    }
  }
}

export function rebuildText(report: RebuildReport): string {
  const { submissions, complete, pending, failed, cancelled, left_out, held } = report;
  const parts = [`${complete} jobs complete`, `${pending} to run`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (cancelled > 0) parts.push(`${cancelled} cancelled`);
  if (left_out.length > 0) parts.push(`${left_out.length} left out`);
  const hold = held ? "; the queue is held as before (touchstoned queue release)" : "";
  return `${submissions} submissions: ${parts.join(", ")}${hold}`;
}

/** Opens the store; one that is new or was set aside is filled from the files. */
async function openStore(setting: Setting, warn: (text: string) => void): Promise<Store> {
  const { files, clock, station } = setting;
  // Without the runs a new store would be an empty one.
  const fresh = station.runs_fault === null;
  if (!fresh && !existsSync(files.store)) requireRuns(station);
  const opened = await openSqliteStore({
    path: files.store,
    now_ms: clock.now_ms(),
    role: fresh ? "owner" : "guest",
  });
  if (opened.set_aside !== null) {
    warn(`${files.store} was unreadable: moved to ${opened.set_aside}, rebuilt from the files`);
  }
  if (opened.created) {
    const report = await rebuildStore({
      ...setting,
      store: opened.store,
      runs_dir: station.runs_dir,
      held: wasHeld(files),
    });
    if (report.submissions + report.left_out.length > 0 || report.held)
      warn(`rebuilt ${rebuildText(report)}`);
    for (const { directory, reason } of report.left_out) warn(`${directory}: left out: ${reason}`);
  }
  return opened.store;
}

/** Why no new work may begin: the disk that holds state and runs is nearly full, for one. */
function blocked(setting: Setting, configuration: Configuration): string | null {
  return configuration.fault ?? runsFault(setting.station) ?? diskLow(setting);
}

/** Why a job cannot run although nothing is wrong with it. */
function directoryFault({ station }: Setting, { bundle_dir }: Job): JobPlaceFault | null {
  const fault = runsFault(station);
  if (fault !== null) return { reason: fault, returns: true };
  const directory = dirname(bundle_dir);
  if (existsSync(directory)) return null;
  return { reason: `its run ${directory} is not there`, returns: false };
}

function diskLow(setting: Setting): string | null {
  const { rooms, station } = setting;
  const { min_free_disk_mb } = station.settings.limits;
  for (const path of [station.runs_dir, station.state_dir]) {
    const free_mb = rooms.free_disk_mb(path);
    if (free_mb === null || free_mb >= min_free_disk_mb) continue;
    const asked = `limits.min_free_disk_mb asks for ${min_free_disk_mb}`;
    return `disk low: only ${Math.floor(free_mb)} MB left at ${path}, ${asked}`;
  }
  return null;
}

/** Hints from the inbox and from commands; their loss is a warning, since the loop rescans. */
async function watchHints(setting: Setting, loop: Loop, report: Report, close: Unwinder) {
  const { files, inbox } = setting;
  const watcher = await watchInbox({
    inbox,
    onHint: () => loop.wake("inbox"),
    onLost: (reason) => report.warn(`changes in the inbox are found by rescans only: ${reason}`),
  });
  close.add(() => watcher.close());
  try {
    ensureDir(files.wake_dir, 0o700);
    const wakes = watch(files.wake_dir, () => loop.wake("queue"));
    wakes.on("error", () => wakes.close());
    close.add(() => wakes.close());
  } catch (error) {
    report.warn(`commands are noticed late: ${errorMessage(error)}`);
  }
}

interface Opened {
  setting: Setting;
  store: Store;
  owner: Registered;
  /** What a model can have here, MB. */
  memory_mb: number | null;
  report: Report;
  configuration: Configuration;
  log: Log;
  options: DaemonOptions;
}

function runnerNames({ machine }: Station): string[] {
  return machine.runners.map(({ name }) => name);
}

/** Puts the loop together. */
function makeLoop(
  opened: Opened,
  inbox: Inbox,
  stop: { soft: AbortSignal; hard: AbortSignal },
): Loop {
  const { setting, store, owner, report, log, options, configuration } = opened;
  const { station, clock, rooms, files } = setting;
  const guard = guardState(files);
  const summaries = new Summaries({ store, rooms, log });
  return new Loop({
    store,
    inbox,
    summaries,
    report,
    clock,
    log,
    owner_id: owner.id,
    get runners() {
      return runnerNames(station);
    },
    memory_mb: opened.memory_mb,
    random: options.random ?? Math.random,
    uptime_ms: () => (process.platform === "linux" ? uptime() * 1000 : null),
    async refresh() {
      guard();
      for (const text of await configuration.refresh()) report.warn(text);
    },
    diskLow: () => blocked(setting, configuration),
    takeLock: (signal) =>
      rooms.lock({ wait_s: 0, purpose: "daemon", run_id: null, signal, comes_back: true }),
    reap: () => beatOnce({ store, owner, clock, log, onReaped: () => undefined }),
    jobRun: (job) =>
      new JobRun(
        {
          store,
          rooms,
          summaries,
          log,
          running_path: files.running,
          min_free_disk_mb: station.settings.limits.min_free_disk_mb,
          ...stop,
          directoryFault: (one) => directoryFault(setting, one),
          claimDirectory: (directory) => claimDirectory(directory, clock, stop.hard),
          keepAwake: async () =>
            station.settings.power.keep_awake === "while_running"
              ? keepAwake({ clock })
              : { release: async () => undefined },
          emit: (_job, event) => report.event(event),
        },
        job,
      ),
  });
}

/**
 * Runs the daemon of a station until it is stopped. Opens in order, closes in reverse. Throws
 * `not_trusted` (78), `daemon_busy` (75) that names who runs, and what the store throws.
 */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { station, clock, env } = options;
  requireTrust(station);
  const setting = openSetting(station, clock, env);
  const { files } = setting;
  const close = new Unwinder();
  const lock = await takeDaemonLock(setting, "daemon");
  close.add(() => lock.release());
  const log = fileLog(files.log);
  const early: string[] = [];
  try {
    log.info({ root: station.root, pid: process.pid }, "daemon opens");
    const store = await openStore(setting, (text) => early.push(text));
    close.add(() => store.close());
    const owner = await registerOwner(store, clock.now_ms());
    const memory_mb = await modelMemoryMb(station, clock);
    const report = new Report({
      path: files.snapshot,
      standing: {
        root: station.root,
        process: owner.identity,
        owner_id: owner.id,
        get runners() {
          return runnerNames(station);
        },
        memory_mb,
        lock_path: resolveLockPath(env, station.machine).path,
        inbox: { path: setting.inbox, min_age_ms: station.settings.inbox.min_age_seconds * 1000 },
      },
      clock,
      log,
      say: options.say,
    });
    for (const text of early) report.warn(text);
    const configuration = new Configuration(setting);
    await work({ setting, store, owner, memory_mb, report, configuration, log, options }, close);
  } finally {
    await close.run(log);
    log.info("daemon closed");
  }
}

async function work(opened: Opened, close: Unwinder): Promise<void> {
  const { setting, store, owner, report, log, options } = opened;
  const { clock, station, files } = setting;
  close.add(async () => {
    const outcome = await store.deregister(owner.id);
    if (!outcome.ok) log.warn(outcome.reason);
  });
  const running_path = files.running;
  const adopted = await adoptOrphan({ store, owner, running_path, clock, log });
  await beatOnce({ store, owner, clock, log, onReaped: () => undefined });
  const fault = () => opened.configuration.fault ?? runsFault(station);
  const inbox = new Inbox(intakeWorld(setting, store, fault), {
    min_age_ms: station.settings.inbox.min_age_seconds * 1000,
  });
  close.add(() => inbox.close());
  const recovery = await inbox.recover();
  for (const text of recovery.troubles) report.warn(text);
  const [soft, hard, beats] = [new AbortController(), new AbortController(), new AbortController()];
  const loop = makeLoop(opened, inbox, { soft: soft.signal, hard: hard.signal });
  options.onSignals({
    rescan: () => loop.wake("queue"),
    stop() {
      if (soft.signal.aborted) hard.abort();
      report.say(
        soft.signal.aborted && hard.signal.aborted ? "ending the running step" : "stopping",
      );
      soft.abort();
      loop.stop();
    },
  });
  await watchHints(setting, loop, report, close);
  const beating = heartbeat({
    store,
    owner,
    clock,
    log,
    signal: beats.signal,
    onReaped: () => loop.wake("queue"),
  });
  close.add(async () => {
    beats.abort();
    await beating;
  });
  report.say(`daemon of ${station.root} runs as ${owner.id}, pid ${process.pid}`);
  try {
    await loop.run(adopted);
  } catch (error) {
    hard.abort();
    await loop.settled();
    throw error;
  }
}
