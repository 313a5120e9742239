import type { Clock } from "../core/clock.ts";
import { EXIT, errorMessage, TouchstonedError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Inbox, PassReport } from "../intake/resident.ts";
import type { Job } from "../queue/resident.ts";
import type { HeldLock } from "../steps/resident.ts";
import type { Store } from "../store/index.ts";
import { RESCAN_MS, START, step, type Effect, type Event, type Now, type State } from "./core.ts";
import { findGap, type Clocks } from "./gaps.ts";
import type { IdleTask, IdleWork } from "./idle/idle-work.ts";
import type { JobRun } from "./job-run.ts";
import type { Adopted } from "./orphan.ts";
import type { Pulse } from "./pulse.ts";
import type { Report } from "./report.ts";
import type { Summaries } from "./summaries.ts";

/** What the loop needs of a job that runs. */
export type RunningJob = Pick<JobRun, "run" | "look">;

/** Chance that the end of a job reaps, beside each heartbeat. */
const REAP_CHANCE = 0.1;
/** So long nothing may be in sight before the daemon starts anew: a little less than one rescan. */
const RENEW_AFTER_MS = RESCAN_MS - 5000;

export interface LoopDeps {
  store: Store;
  inbox: Pick<Inbox, "pass" | "finishEnded">;
  summaries: Pick<Summaries, "sync" | "ids">;
  idle: Pick<IdleWork, "look" | "giveWay" | "jobEnded">;
  report: Pick<
    Report,
    "warn" | "say" | "state" | "inboxBlocked" | "fileStuck" | "jobStarts" | "jobEnds" | "window"
  >;
  clock: Clock;
  log: Log;
  owner_id: string;
  /** Names of the runners that this machine has. */
  runners: readonly string[];
  /** Memory that a model can have here, MB; null where that is not known. */
  memory_mb: number | null;
  random: () => number;
  uptime_ms: () => number | null;
  /** Looks at what a person may have changed; throws where this daemon must not go on. */
  refresh: () => Promise<void>;
  /** Why no new work may begin; null where it may. */
  barred: () => string | null;
  /** When jobs may start, wall clock: not later than now where they may. Null: at any time. */
  opensAt: () => Promise<number | null>;
  /** Hears what the loop has finished; undefined where nobody listens. */
  pulse: Pulse | undefined;
  /** Throws busy (exit 75) at once where it is held. */
  takeLock: (signal: AbortSignal) => Promise<HeldLock>;
  jobRun: (job: Job) => RunningJob;
  reap: () => Promise<void>;
  /** Whether it would give memory back to start anew. */
  grown: () => boolean;
}

/** `outgrown`: nothing is to be done, and a new process would be a smaller one. */
export type LoopEnd = "stopped" | "outgrown";

/** Carries out what the core decides, one effect after the other; one job runs beside it. */
export class Loop {
  readonly #deps: LoopDeps;
  #state: State = START;
  #running: { run: RunningJob; ended: Promise<void> } | null = null;
  /** What is done beside the loop while nothing waits. */
  #idle_work: Promise<void> | null = null;
  /** Ends the present wait. */
  #waker = new AbortController();
  #lock: HeldLock | null = null;
  /** The lock on its way for a job that is only now being stored. */
  #lock_ahead: Promise<HeldLock> | null = null;
  #reap_soon = false;
  #queue_changed = false;
  /** Since when nothing runs and nothing is in sight, monotonic. */
  #quiet_since_ms: number | null = null;
  readonly #stopping = new AbortController();
  /** At the end of the last wait. */
  #clocks_seen: Clocks;

  constructor(deps: LoopDeps) {
    this.#deps = deps;
    this.#clocks_seen = this.#clocks();
  }

  #now(): Now {
    const { clock } = this.#deps;
    return { wall_ms: clock.now_ms(), monotonic_ms: clock.monotonic_ms() };
  }

  /** What happens beside the loop. */
  #beside(event: Event): void {
    this.#state = step(this.#state, event, this.#now()).state;
    this.#deps.report.state(this.#state, null);
  }

  /** Something may have changed: look now. `queue`: a person changed what is to be done. */
  wake(what: "inbox" | "queue" | "loop"): void {
    this.#queue_changed ||= what === "queue";
    this.#waker.abort();
  }

  /** The first time lets the running step end, the second time it is ended. */
  stop(): void {
    this.#stopping.abort();
    this.#beside({ kind: "stop" });
    this.#deps.pulse?.stopping();
    this.wake("loop");
  }

  /**
   * A file is being written into the queue, and nothing runs: its job will want the lock in some
   * milliseconds. Whoever is asked now has answered by then; where no job is due it is given back.
   */
  lockAhead(): void {
    const { stop, running, idle_work, lock_held, barred } = this.#state;
    const free = [running, idle_work, lock_held, barred].every((one) => one === null);
    if (!free || stop !== "none" || this.#lock_ahead !== null) return;
    this.#lock_ahead = this.#deps.takeLock(this.#stopping.signal);
    this.#lock_ahead.catch(() => undefined); // said where the lock is needed
  }

  async #dropAhead(): Promise<void> {
    const ahead = this.#lock_ahead;
    this.#lock_ahead = null;
    try {
      (await ahead)?.release();
    } catch {
      // There was nothing to give back.
    }
  }

  /** Goes on until it is stopped, beginning with the job of an orphaned step where there is one. */
  async run(adopted: Adopted | null): Promise<LoopEnd> {
    if (adopted !== null) {
      const holder = { path: "", release: () => undefined };
      this.#begin(adopted.job, (run) => run.run(holder, adopted.step));
    }
    try {
      return await this.#rounds();
    } finally {
      await this.#dropAhead();
    }
  }

  async #rounds(): Promise<LoopEnd> {
    for (let event: Event = { kind: "started" }; ;) {
      const next = step(this.#state, event, this.#now());
      this.#state = next.state;
      if (next.effect === null || next.effect.kind === "end") return "stopped";
      if (next.effect.kind === "wait" && this.#hasOutgrown(next.effect.for_ms)) return "outgrown";
      event = await this.#perform(next.effect);
      this.#deps.pulse?.alive();
    }
  }

  /** Only where the longest wait lies ahead: no file ripens, no job is due, nobody has the lock. */
  #hasOutgrown(for_ms: number): boolean {
    const quiet = this.#running === null && for_ms === RESCAN_MS && this.#deps.grown();
    if (!quiet || this.#state.phase !== "idle") {
      this.#quiet_since_ms = null;
      return false;
    }
    const now_ms = this.#deps.clock.monotonic_ms();
    this.#quiet_since_ms ??= now_ms;
    return now_ms - this.#quiet_since_ms >= RENEW_AFTER_MS;
  }

  async #perform(effect: Exclude<Effect, { kind: "end" }>): Promise<Event> {
    switch (effect.kind) {
      case "look":
        return this.#look();
      case "tidy":
        return this.#tidy();
      case "check":
        return this.#check();
      case "take_lock":
        return this.#takeLock();
      case "claim":
        return this.#claim();
      case "idle":
        return this.#idle(effect);
      case "give_way":
        this.#deps.idle.giveWay(effect.why);
        return { kind: "gave_way" };
      case "wait":
        break;
    }
    return this.#wait(effect.for_ms);
  }

  async #look(): Promise<Event> {
    const { inbox, report, summaries, log, refresh } = this.#deps;
    await refresh();
    let pass: PassReport;
    try {
      pass = await inbox.pass(this.#stopping.signal);
    } catch (error) {
      report.inboxBlocked(`the inbox cannot be looked at: ${errorMessage(error)}`);
      return { kind: "looked", look_at_ms: null };
    }
    report.inboxBlocked(pass.blocked);
    for (const text of pass.warnings) report.warn(text);
    for (const { name, outcome } of pass.outcomes) {
      log.info({ name, ...outcome }, "inbox");
      report.fileStuck(name, outcome.kind === "trouble" ? outcome.message : null);
      if (outcome.kind === "accepted") {
        report.say(
          `${name}: taken up as submission ${outcome.submission_id}, ${outcome.jobs} jobs`,
        );
        for (const text of outcome.warnings) report.warn(`${name}: ${text}`);
        await summaries.sync(outcome.submission_id, "soon");
      } else if (outcome.kind === "rejected") {
        report.warn(`${name}: rejected: ${outcome.refusal.message}`);
      } else if (outcome.kind === "trouble") report.warn(`${name}: ${outcome.message}`);
    }
    return { kind: "looked", look_at_ms: pass.next_look_ms };
  }

  async #guarded(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.report.warn(`${what}: ${errorMessage(error)}`);
    }
  }

  async #tidy(): Promise<Event> {
    const { store, inbox, summaries, clock, report, reap } = this.#deps;
    await this.#guarded("the queue cannot be tidied", async () => {
      if (this.#reap_soon) await reap();
      this.#reap_soon = false;
      await this.#running?.run.look();
      await store.failDependants(clock.now_ms());
      if (this.#queue_changed) for (const id of summaries.ids()) await summaries.sync(id);
      this.#queue_changed = false;
      const ended = await store.submissions({ open: false, placed: false });
      for (const { id } of ended) await summaries.sync(id);
      if (ended.length === 0) return;
      const { troubles } = await inbox.finishEnded();
      for (const text of troubles) report.warn(text);
    });
    return { kind: "tidied" };
  }

  async #check(): Promise<Event> {
    const { store, clock, runners, memory_mb, barred, opensAt, report } = this.#deps;
    let due_at_ms: number | null = null;
    await this.#guarded("the queue cannot be read", async () => {
      const opens_ms = await opensAt();
      report.window(opens_ms);
      due_at_ms = await store.nextDue(clock.now_ms(), { runners, memory_mb });
      // A job is due when it and the window are.
      if (due_at_ms !== null && opens_ms !== null) due_at_ms = Math.max(due_at_ms, opens_ms);
    });
    return { kind: "checked", due_at_ms, barred: barred() };
  }

  async #takeLock(): Promise<Event> {
    try {
      const taken = this.#lock_ahead ?? this.#deps.takeLock(this.#stopping.signal);
      this.#lock_ahead = null;
      this.#lock = await taken;
      return { kind: "locked" };
    } catch (error) {
      if (error instanceof TouchstonedError && error.exitCode === EXIT.busy) {
        // "the model lock PATH is held by ..."
        const holder = error.message.replace(/^the model lock .+? is (?=held|busy)/, "");
        return { kind: "lock_refused", holder };
      }
      return { kind: "lock_refused", holder: `which cannot be used: ${errorMessage(error)}` };
    }
  }

  async #claim(): Promise<Event> {
    const { store, owner_id, clock, runners, memory_mb } = this.#deps;
    const lock = this.#lock;
    this.#lock = null;
    let job: Job | undefined;
    if (this.#state.stop === "none") {
      await this.#guarded("nothing can be claimed", async () => {
        job = await store.claim(owner_id, clock.now_ms(), { runners, memory_mb });
      });
    }
    if (job === undefined || lock === null) {
      lock?.release();
      return { kind: "claimed", found: false };
    }
    this.#begin(job, (run) => run.run(lock));
    return { kind: "claimed", found: true };
  }

  async #idle(round: { soon: boolean; barred: string | null }): Promise<Event> {
    // What begins now may want it.
    await this.#dropAhead();
    let look_at_ms: number | null = null;
    await this.#guarded("idle hours cannot be used", async () => {
      const looked = await this.#deps.idle.look(round);
      look_at_ms = looked.look_at_ms;
      if (looked.task !== null && this.#state.stop === "none") this.#beginIdle(looked.task);
    });
    return { kind: "idled", look_at_ms };
  }

  #beginIdle(task: IdleTask): void {
    this.#beside({ kind: "idle_began", what: task.kind });
    const end = async (): Promise<void> => {
      await this.#guarded("idle hours cannot be used", () => task.run());
      this.#idle_work = null;
      this.#beside({ kind: "idle_ended" });
      this.wake("loop");
    };
    this.#idle_work = end();
  }

  /** Runs a job beside the loop. */
  #begin(job: Job, go: (run: RunningJob) => Promise<void>): void {
    this.#beside({ kind: "began", job_id: job.id });
    const { store, report, jobRun, random } = this.#deps;
    const run = jobRun(job);
    report.jobStarts(job);
    const end = async (): Promise<void> => {
      await go(run);
      this.#running = null;
      await this.#guarded("the store cannot be read", async () => {
        report.jobEnds(job, await store.job(job.id));
      });
      this.#deps.idle.jobEnded();
      this.#reap_soon ||= random() < REAP_CHANCE;
      this.#beside({ kind: "job_ended" });
      this.wake("loop");
    };
    this.#running = { run, ended: end() };
  }

  /** When nothing runs beside the loop any more. */
  async settled(): Promise<void> {
    await this.#running?.ended;
    await this.#idle_work;
  }

  #clocks(): Clocks {
    return { ...this.#now(), uptime_ms: this.#deps.uptime_ms() };
  }

  /** In pieces, where somebody wants to hear that we live. */
  async #sleep(for_ms: number): Promise<void> {
    const { clock, pulse } = this.#deps;
    const { signal } = this.#waker;
    const end_ms = clock.monotonic_ms() + for_ms;
    for (let left_ms = for_ms; ; left_ms = end_ms - clock.monotonic_ms()) {
      await clock.sleep(Math.min(left_ms, pulse?.longest_ms ?? left_ms), signal);
      if (signal.aborted || clock.monotonic_ms() >= end_ms) return;
      pulse?.alive();
    }
  }

  async #wait(for_ms: number): Promise<Event> {
    const { report, pulse } = this.#deps;
    await this.#dropAhead();
    const before = this.#clocks();
    report.state(this.#state, before.wall_ms + for_ms);
    pulse?.round();
    await this.#sleep(for_ms);
    this.#waker = new AbortController();
    this.#lookAtClocks(before.monotonic_ms + for_ms);
    return { kind: "woke" };
  }

  /** What happened to the clocks since the end of the last wait; this one was to end at `end_ms`. */
  #lookAtClocks(end_ms: number): void {
    const before = this.#clocks_seen;
    this.#clocks_seen = this.#clocks();
    const gap = findGap(before, this.#clocks_seen, end_ms - before.monotonic_ms);
    if (gap === null) return;
    this.#deps.report.say(gap.text);
    // Whoever shares the store may have taken a sleeper for dead: it tells them first.
    this.#reap_soon = true;
  }
}
