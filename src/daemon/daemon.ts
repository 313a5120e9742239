import { watch } from "node:fs";
import { uptime } from "node:os";
import type { Clock } from "../core/clock.ts";
import { realDisk } from "../core/disk.ts";
import { errorMessage } from "../core/errors.ts";
import { ensureDir } from "../core/files.ts";
import { Lazy } from "../core/lazy.ts";
import { fileLog, type Log } from "../core/log.ts";
import { packageVersion } from "../core/program.ts";
import {
  Inbox,
  stationTrust,
  watchInbox,
  type IntakeWorld,
  type Parser,
} from "../intake/resident.ts";
import { resolveLockPath, runsFault, type Station } from "../station/resident.ts";
import type { Store } from "../store/index.ts";
import { openBase, requireTrust, takeDaemonLock, type Base } from "./base.ts";
import { Configuration } from "./configuration.ts";
import { diskLow } from "./disk-room.ts";
import type { Engine } from "./engine.ts";
import { openIdleWork } from "./idle/open.ts";
import { Loop, type LoopEnd } from "./loop.ts";
import { servicePulse } from "./notify.ts";
import { openStore } from "./open-store.ts";
import { adoptOrphan } from "./orphan.ts";
import { beatOnce, heartbeat, registerOwner, type Registered } from "./owner.ts";
import type { ServiceManager, ServicePulse } from "./pulse.ts";
import { Report } from "./report.ts";
import { guardState } from "./state-guard.ts";
import { stopper } from "./stopping.ts";
import { timedInbox, windowOpening } from "./timed.ts";

export interface DaemonOptions {
  station: Station;
  /** What a model can have here, MB; null where that is not known. */
  memory_mb: number | null;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  /** Gives the handler of signals: `stop` comes once for each request. */
  onSignals: (handler: { stop: () => void; rescan: () => void }) => void;
  say: (text: string) => void;
  /** False where this process cannot be replaced by a new one. */
  renewable: boolean;
  /** Who started us and wants to hear that we live; null where nobody does. */
  service: ServiceManager | null;
  /** So long a step has after the first stop; null: until it ends by itself. */
  stop_within_s: number | null;
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

/** Hints from the inbox and from commands; their loss is a warning, since the loop rescans. */
async function watchHints(base: Base, loop: Loop, report: Report, close: Unwinder) {
  const { files, inbox } = base;
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
  base: Base;
  store: Store;
  owner: Registered;
  report: Report;
  configuration: Configuration;
  log: Log;
  pulse: ServicePulse | undefined;
  options: DaemonOptions;
}

function runnerNames({ machine }: Station): string[] {
  return machine.runners.map(({ name }) => name);
}

/** Why nothing is taken up and nothing begins; null where nothing stands in the way. */
function faultOf({ base, configuration }: Opened): string | null {
  return configuration.fault ?? runsFault(base.station);
}

/** The engine's parser. To have it warm means to have the whole engine, which is needed next. */
function lazyParser(engine: Lazy<Engine>, pulse: ServicePulse | undefined): Parser {
  const then = async (what: (parser: Parser) => void): Promise<void> => {
    try {
      what((await engine.get()).parser);
    } catch {
      // `parse` says it where somebody hears it.
    }
  };
  let asked = false;
  return {
    warm() {
      asked = true;
      void then((parser) => parser.warm());
    },
    isReady: () => engine.now()?.parser.isReady() === true,
    holds: (basis) => engine.now()?.parser.holds(basis) === true,
    async parse(...request) {
      const outcome = await (await engine.get()).parser.parse(...request);
      // Many files at once are many such waits.
      pulse?.alive();
      return outcome;
    },
    close() {
      if (asked) void then((parser) => parser.close());
      asked = false;
    },
  };
}

function intakeWorld(opened: Opened, parser: Parser): IntakeWorld {
  const { base, store } = opened;
  const { station, inbox, clock, env, new_id } = base;
  const trust = stationTrust(inbox, env);
  const world: IntakeWorld = {
    paths: { inbox, runs_dir: station.runs_dir, state_dir: station.state_dir },
    disk: realDisk,
    clock,
    new_id,
    store,
    trust: { ...trust, inbox: () => faultOf(opened) ?? trust.inbox() },
    parser,
  };
  return world;
}

/** Puts the loop together. */
function makeLoop(opened: Opened, inbox: Inbox, engine: Lazy<Engine>, hard: AbortSignal): Loop {
  const { base, store, owner, report, log, options, configuration, pulse } = opened;
  const { station, clock } = base;
  const guard = guardState(base.files);
  return new Loop({
    store,
    inbox: timedInbox({ base, store, report, fault: () => faultOf(opened) }, inbox),
    summaries: {
      sync: async (id, when) => (await engine.get()).summaries.sync(id, when),
      ids: () => engine.now()?.summaries.ids() ?? [],
    },
    idle: openIdleWork({ base, configuration, report, hard }),
    report,
    clock,
    log,
    owner_id: owner.id,
    get runners() {
      return runnerNames(station);
    },
    memory_mb: options.memory_mb,
    random: options.random ?? Math.random,
    uptime_ms: () => (process.platform === "linux" ? uptime() * 1000 : null),
    async refresh() {
      guard();
      for (const text of await configuration.refresh()) report.warn(text);
    },
    barred: () => faultOf(opened) ?? diskLow(station),
    opensAt: windowOpening(base),
    pulse,
    // A new process would not know of a fault that was found in this one.
    grown: () => options.renewable && engine.now() !== undefined && configuration.fault === null,
    takeLock: async (signal) => {
      const { rooms } = await engine.get();
      return rooms.lock({ wait_s: 0, purpose: "daemon", run_id: null, signal, comes_back: true });
    },
    reap: () => beatOnce({ store, owner, clock, log, onReaped: () => undefined }),
    jobRun(job) {
      const ready = engine.now();
      if (ready === undefined) throw new Error("a job begins before there is anything to run it");
      return ready.jobRun(job);
    },
  });
}

function pulseOf({ service, clock, env }: DaemonOptions, report: Report): ServicePulse | undefined {
  if (service === null) return undefined;
  const warn = (text: string): void => report.warn(text);
  return servicePulse({ manager: service, clock, env, line: () => report.line(), warn });
}

/**
 * Runs the daemon of a station until it is stopped, or has `outgrown` itself: then everything is
 * closed, and the caller is to start it anew. Opens in order, closes in reverse. Throws
 * `not_trusted` (78), `daemon_busy` (75) that names who runs, and what the store throws.
 */
export async function runDaemon(options: DaemonOptions): Promise<LoopEnd> {
  const { station, clock, env } = options;
  requireTrust(station);
  const base = openBase(station, clock, env);
  const { files } = base;
  const close = new Unwinder();
  const lock = await takeDaemonLock(base, "daemon");
  close.add(() => lock.release());
  const log = fileLog(files.log);
  const early: string[] = [];
  try {
    log.info({ root: station.root, pid: process.pid }, "daemon opens");
    const store = await openStore(base, (text) => early.push(text));
    close.add(() => store.close());
    const owner = await registerOwner(store, clock.now_ms());
    const report = new Report({
      path: files.snapshot,
      standing: {
        root: station.root,
        version: packageVersion(),
        process: owner.identity,
        owner_id: owner.id,
        get runners() {
          return runnerNames(station);
        },
        memory_mb: options.memory_mb,
        lock_path: resolveLockPath(env, station.machine).path,
        inbox: { path: base.inbox, min_age_ms: station.settings.inbox.min_age_seconds * 1000 },
      },
      clock,
      log,
      say: options.say,
    });
    close.add(() => report.flush());
    for (const text of early) report.warn(text);
    const configuration = new Configuration(station, env);
    const pulse = pulseOf(options, report);
    close.add(() => pulse?.settled());
    return await work({ base, store, owner, report, configuration, log, pulse, options }, close);
  } finally {
    await close.run(log);
    log.info("daemon closed");
  }
}

async function work(opened: Opened, close: Unwinder): Promise<LoopEnd> {
  const { base, store, owner, report, log, options, pulse } = opened;
  const { clock, station, files } = base;
  close.add(async () => {
    const outcome = await store.deregister(owner.id);
    if (!outcome.ok) log.warn(outcome.reason);
  });
  const running_path = files.running;
  const adopted = await adoptOrphan({ store, owner, running_path, clock, log });
  await beatOnce({ store, owner, clock, log, onReaped: () => undefined });
  const [soft, hard, over] = [new AbortController(), new AbortController(), new AbortController()];
  const signals = { soft: soft.signal, hard: hard.signal };
  const engine = new Lazy(async () => {
    const { openEngine } = await import("./engine.ts");
    return openEngine({ base, store, log, ...signals, emit: (event) => report.event(event) });
  });
  if (adopted !== null) await engine.get();
  const intake = intakeWorld(opened, lazyParser(engine, pulse));
  const inbox = new Inbox(intake, {
    min_age_ms: station.settings.inbox.min_age_seconds * 1000,
  });
  close.add(() => inbox.close());
  const recovery = await inbox.recover();
  for (const text of recovery.troubles) report.warn(text);
  const loop = makeLoop(opened, inbox, engine, hard.signal);
  intake.onStoring = () => loop.lockAhead();
  options.onSignals({
    rescan: () => loop.wake("queue"),
    stop: stopper({
      loop,
      report,
      clock,
      stop_within_s: options.stop_within_s,
      soft,
      hard,
      over: over.signal,
    }),
  });
  await watchHints(base, loop, report, close);
  const beating = heartbeat({
    store,
    owner,
    clock,
    log,
    signal: over.signal,
    onReaped: () => loop.wake("queue"),
  });
  close.add(async () => {
    over.abort();
    await beating;
  });
  report.say(`daemon of ${station.root} runs as ${owner.id}, pid ${process.pid}`);
  let end: LoopEnd;
  try {
    end = await loop.run(adopted);
  } catch (error) {
    hard.abort();
    await loop.settled();
    throw error;
  }
  if (end === "outgrown") report.say("nothing in sight: starts anew, to give memory back");
  return end;
}
