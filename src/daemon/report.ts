import { isoTime, type Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Job } from "../queue/resident.ts";
import { forecast, type RunEvent } from "../steps/resident.ts";
import type { State } from "./core.ts";
import { doingText, IDLE, minutesText, type IdleSnapshot } from "./idle/snapshot.ts";
import type { ScheduledView } from "./schedule.ts";
import { writeSnapshot, type DaemonSnapshot, type RunningSnapshot } from "./snapshot.ts";

/** Within so long a change is on disk: many come at once, and nobody need wait for the disk. */
const WRITE_WITHIN_MS = 50;
/** Progress is written at most so often: the machine is being measured. */
const PROGRESS_MS = 5000;
const MOST_WARNINGS = 10;

type Standing = Pick<
  DaemonSnapshot,
  "root" | "version" | "process" | "owner_id" | "runners" | "memory_mb" | "lock_path"
> & {
  inbox: Omit<DaemonSnapshot["inbox"], "blocked" | "stuck">;
};

export interface ReportOptions {
  path: string;
  standing: Standing;
  clock: Clock;
  log: Log;
  /** For the person in whose terminal the daemon runs. */
  say: (text: string) => void;
}

/** Keeps `daemon.json` in step with what the daemon does, and tells its terminal and its log. */
export class Report {
  readonly #options: ReportOptions;
  readonly #started: string;
  readonly #warnings: DaemonSnapshot["warnings"] = [];
  #running: RunningSnapshot | null = null;
  #blocked: string | null = null;
  /** Why files are not taken up yet, by name. */
  readonly #stuck: Record<string, string> = {};
  #next_look_ms: number | null = null;
  #progress_ms = -Infinity;
  /** When jobs may start again; null where they may now. */
  #opens_ms: number | null = null;
  #schedule: readonly ScheduledView[] = [];
  #state: State | null = null;
  #idle: IdleSnapshot = IDLE;
  #pending: NodeJS.Timeout | null = null;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#started = isoTime(options.clock.now_ms());
  }

  #write(): void {
    this.#pending ??= setTimeout(() => this.flush(), WRITE_WITHIN_MS);
  }

  /** Writes now what has changed, if anything has. */
  flush(): void {
    if (this.#pending === null) return;
    clearTimeout(this.#pending);
    this.#pending = null;
    const { path, standing, clock } = this.#options;
    const state = this.#state;
    if (state === null) return;
    try {
      writeSnapshot(path, {
        schema_version: 1,
        ...standing,
        started: this.#started,
        updated: isoTime(clock.now_ms()),
        phase: state.phase,
        stop: state.stop,
        lock_held: state.lock_held,
        barred: state.barred,
        window_opens: this.#opens_ms === null ? null : isoTime(this.#opens_ms),
        schedule: this.#schedule,
        running: this.#running,
        idle: this.#idle,
        inbox: { ...standing.inbox, blocked: this.#blocked, stuck: this.#stuck },
        next_look: this.#next_look_ms === null ? null : isoTime(this.#next_look_ms),
        warnings: this.#warnings,
      });
    } catch {
      // A full disk: `status` shows what it was before.
    }
  }

  say(text: string): void {
    this.#options.log.info(text);
    this.#options.say(text);
  }

  warn(text: string): void {
    const { clock, log, say } = this.#options;
    log.warn(text);
    say(`warning: ${text}`);
    // Said again, it is the same warning, and not another one.
    if (this.#warnings.at(-1)?.text === text) this.#warnings.pop();
    this.#warnings.push({ at: isoTime(clock.now_ms()), text });
    if (this.#warnings.length > MOST_WARNINGS) this.#warnings.shift();
  }

  /** What does not hold any more is no warning; the log keeps it. */
  #over(text: string): void {
    const left = this.#warnings.filter((warning) => warning.text !== text);
    this.#warnings.splice(0, this.#warnings.length, ...left);
  }

  /** What holds from now on; said where it is news. */
  state(state: State, next_look_ms: number | null): void {
    const before = this.#state;
    this.#state = state;
    this.#next_look_ms = next_look_ms;
    if (state.lock_held !== null && before?.lock_held !== state.lock_held) {
      this.say(`waiting for the model lock, ${state.lock_held}`);
    }
    if (state.barred !== null && before?.barred == null) this.warn(state.barred);
    if (state.barred === null && before?.barred != null) this.#over(before.barred);
    this.#write();
  }

  /** What is done in idle hours, or why not. */
  idle(snapshot: IdleSnapshot): void {
    this.#idle = snapshot;
    this.#write();
  }

  /** When jobs may start, wall clock; null: at any time. */
  window(opens_ms: number | null): void {
    const later = opens_ms !== null && opens_ms > this.#options.clock.now_ms();
    this.#opens_ms = later ? opens_ms : null;
  }

  schedule(views: readonly ScheduledView[]): void {
    this.#schedule = views;
  }

  /** What the daemon does, in one line: a service manager shows it. */
  line(): string {
    const [state, running] = [this.#state, this.#running];
    if (state === null) return "starting";
    const stopping = state.stop === "none" ? "" : "stopping: ";
    if (running !== null) {
      const step = running.step === null ? "" : `, ${running.step}`;
      return `${stopping}${running.model_id} (job ${running.job_id})${step}`;
    }
    if (this.#idle.doing !== null) return `${stopping}${doingText(this.#idle.doing, minutesText)}`;
    if (state.stop !== "none") return "stopping";
    if (state.barred !== null) return state.barred;
    if (state.lock_held !== null) return `waiting for the model lock, ${state.lock_held}`;
    if (this.#opens_ms === null || state.due_at_ms === null) return "idle";
    return `jobs wait for the window, which opens at ${isoTime(this.#opens_ms)}`;
  }

  inboxBlocked(reason: string | null): void {
    if (reason !== null && reason !== this.#blocked) this.warn(reason);
    this.#blocked = reason;
  }

  /** What became of a file of the inbox: `why` it waits, or null where it does not any more. */
  fileStuck(name: string, why: string | null): void {
    if (why === null) delete this.#stuck[name];
    else this.#stuck[name] = why;
  }

  jobStarts(job: Job): void {
    const { id, submission_id, index, bundle_dir, entry } = job;
    const since = isoTime(this.#options.clock.now_ms());
    this.#running = {
      job_id: id,
      submission_id,
      index,
      model_id: entry.model.id,
      bundle_dir,
      since,
      step: null,
      step_since: null,
      progress: null,
      left_s: null,
    };
    this.say(`job ${id} (entry ${index + 1}, ${entry.model.id}) begins`);
    this.#write();
  }

  jobEnds(job: Job, after: Job | undefined): void {
    this.#running = null;
    const why = after?.state === "FAILED" ? `: ${after.failure?.message ?? "?"}` : "";
    const good = after?.final === true ? " for good" : "";
    this.say(`job ${job.id} (${job.entry.model.id}): ${after?.state ?? "gone"}${good}${why}`);
    this.#write();
  }

  event(event: RunEvent): void {
    const running = this.#running;
    const { clock } = this.#options;
    if (event.type === "warning") this.warn(event.text);
    if (running === null) return;
    if (event.type === "step_start") {
      [running.step, running.step_since] = [event.step, isoTime(clock.now_ms())];
      [running.progress, running.left_s] = [null, null];
      this.say(`  ${event.step}`);
    } else if (event.type === "step_progress") {
      const { done, failed, total } = event.progress;
      const left = forecast(event.progress);
      running.progress = { done, failed, total };
      running.left_s = left === null ? null : { low: left.low_s, high: left.high_s };
      if (clock.monotonic_ms() - this.#progress_ms < PROGRESS_MS) return;
      this.#progress_ms = clock.monotonic_ms();
    } else if (event.type === "step_end") {
      // Until the next one begins, none runs.
      [running.step, running.step_since] = [null, null];
      [running.progress, running.left_s] = [null, null];
      const { kind, status, error } = event.record;
      if (error !== null) this.say(`  ${kind} ${status}: ${error}`);
    } else if (event.type !== "warning") return;
    this.#write();
  }
}
