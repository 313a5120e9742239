import { errorMessage, systemErrorCode } from "../core/errors.ts";
import { detailOf } from "./detail.ts";
import { finishSubmission, type Placed } from "./placing.ts";
import type { IntakeWorld } from "./ports.ts";
import { dropPrepared, prepareFile, takeUpPrepared, type Prepared } from "./prepare.ts";
import { finishEnded, recoverIntake, type RecoveryReport } from "./recover.ts";
import type { TakeUpOutcome } from "./refuse.ts";
import type { Moment } from "./ripeness.ts";
import { NO_SCAN_YET, postpone, scanInbox, type RipeFile, type ScanReport } from "./scan.ts";
import { takeUpFile } from "./take-up.ts";

export interface InboxOptions {
  /** `inbox.min_age_seconds` of the station's settings, in ms. */
  min_age_ms: number;
  max_looks?: number;
}

/** What one pass over the inbox did. */
export interface PassReport {
  /** Why nothing at all is taken up, with what to do; null where files are. */
  blocked: string | null;
  outcomes: { name: string; outcome: TakeUpOutcome }[];
  /** Files that may fall ripe by themselves. */
  waiting: number;
  /** Files that there were too many of to be looked at; the next pass goes on with them. */
  not_looked_at: number;
  /** When to look again, monotonic; null: only a change or the usual rescan brings something. */
  next_look_ms: number | null;
  /** Each said once for as long as it holds. */
  warnings: string[];
}

/** 2,500 looks take about 15 ms. */
const MAX_LOOKS = 2500;
/** After trouble of ours (no descriptors, disk full) a file is tried again so much later. */
const TROUBLE_PAUSE_MS = 10_000;
/** A parser takes so long to start; it is started when a file will be ripe in that time. */
const WARM_AHEAD_MS = 4000;
/**
 * Of a file that rests alone all but the last step is done by the time it is ripe. Where that is in
 * vain, another parser is ready by then.
 */
const PREPARE_AHEAD_MS = 2000;
/** Where no parser stands ready for that, it is looked again. */
const READY_LOOK_MS = 250;

/** The files of open submissions by name: they stay in the inbox, and are not looked at again. */
class TakenFiles {
  readonly #keys = new Map<string, Map<string, Set<string>>>();

  add(name: string, submission_id: string, key: string): void {
    const ofName = this.#keys.get(name) ?? new Map<string, Set<string>>();
    const keys = ofName.get(submission_id) ?? new Set<string>();
    this.#keys.set(name, ofName.set(submission_id, keys.add(key)));
  }

  delete(submission_id: string): void {
    for (const [name, ofName] of this.#keys) {
      ofName.delete(submission_id);
      if (ofName.size === 0) this.#keys.delete(name);
    }
  }

  byName(): Map<string, Set<string>> {
    const flat = new Map<string, Set<string>>();
    for (const [name, ofName] of this.#keys) {
      const all = new Set<string>();
      for (const keys of ofName.values()) for (const key of keys) all.add(key);
      flat.set(name, all);
    }
    return flat;
  }
}

/** The inbox of a station, from the daemon's side. One at a time, in one process of the station. */
export class Inbox {
  readonly #world: IntakeWorld;
  readonly #options: Required<InboxOptions>;
  #state = NO_SCAN_YET;
  #taken: TakenFiles | null = null;
  #prepared: Prepared | null = null;
  /** What an earlier life had begun to take up is put right. */
  #settled = false;
  /** Name and key of the file that was last tried to be prepared. */
  #tried = "";

  constructor(world: IntakeWorld, options: InboxOptions) {
    this.#world = world;
    this.#options = { max_looks: MAX_LOOKS, ...options };
  }

  #now(): Moment {
    const { clock } = this.#world;
    return { wall_ms: clock.now_ms(), monotonic_ms: clock.monotonic_ms() };
  }

  /** To be called first. Throws where disk or store fail. */
  async recover(): Promise<RecoveryReport> {
    const report = await recoverIntake(this.#world);
    this.#taken = null;
    this.#prepared = null;
    this.#settled = report.accepted !== null;
    await this.#load();
    return report;
  }

  async #load(): Promise<TakenFiles> {
    if (this.#taken !== null) return this.#taken;
    const taken = new TakenFiles();
    for (const submission of await this.#world.store.submissions({ placed: false })) {
      const detail = detailOf(submission);
      if (detail !== null) taken.add(submission.file_name, submission.id, detail.file_key);
    }
    this.#taken = taken;
    return taken;
  }

  /** Looks at the inbox and takes up what is at rest. Trouble with one file loses no other one. */
  async pass(signal: AbortSignal): Promise<PassReport> {
    let taken: TakenFiles;
    let scan: ScanReport;
    let troubles: string[] = [];
    try {
      const fault = this.#world.trust.inbox();
      if (fault !== null) return this.#blocked(fault);
      if (!this.#settled) ({ troubles } = await this.recover());
      if (!this.#settled) return this.#blocked("the runs have just gone away");
      taken = await this.#load();
      scan = scanInbox(this.#state, this.#now(), this.#world.disk, {
        inbox: this.#world.paths.inbox,
        taken: taken.byName(),
        ...this.#options,
      });
    } catch (error) {
      return this.#blocked(`the inbox cannot be read: ${errorMessage(error)}`);
    }
    this.#state = scan.state;
    const outcomes: PassReport["outcomes"] = [];
    await this.#checkPrepared(scan);
    let next_ms = scan.next_due_ms ?? Infinity;
    for (const file of scan.ripe) {
      if (signal.aborted) break;
      const outcome = await this.#takeUp(file, signal);
      outcomes.push({ name: file.name, outcome });
      next_ms = Math.min(next_ms, this.#note(file, outcome, taken));
    }
    const early_ms = await this.#prepare(scan.lone, next_ms, signal);
    return {
      blocked: null,
      outcomes,
      waiting: scan.waiting,
      not_looked_at: scan.not_looked_at,
      next_look_ms: this.#plan(next_ms, early_ms),
      warnings: [...troubles, ...scan.warnings],
    };
  }

  #blocked(reason: string): PassReport {
    return {
      blocked: reason,
      outcomes: [],
      waiting: 0,
      not_looked_at: 0,
      next_look_ms: null,
      warnings: [],
    };
  }

  async #takeUp(file: RipeFile, signal: AbortSignal): Promise<TakeUpOutcome> {
    try {
      const prepared = this.#prepared;
      this.#prepared = null;
      const ended = prepared && (await takeUpPrepared(this.#world, file, prepared));
      return ended ?? (await takeUpFile(this.#world, file, signal));
    } catch (error) {
      const code = systemErrorCode(error) ?? "error";
      const said = errorMessage(error);
      return { kind: "trouble", message: said.startsWith(code) ? said : `${code}: ${said}` };
    }
  }

  /** Lets go of what was prepared where its file has changed, or others are to be taken up first. */
  async #checkPrepared({ state, ripe }: ScanReport): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === null) return;
    const same = state.seen.get(prepared.name)?.key === prepared.key;
    if (same && ripe.every(({ name }) => name === prepared.name)) return;
    await this.#dropPrepared();
  }

  async #dropPrepared(): Promise<void> {
    const prepared = this.#prepared;
    this.#prepared = null;
    try {
      if (prepared !== null) await dropPrepared(this.#world, prepared);
    } catch {
      // The journal has it: it is undone when these bytes are taken up, or at the next start.
    }
  }

  /** Prepares a file that rests alone and falls ripe soon. Returns when to try again. */
  async #prepare(lone: RipeFile | null, next_ms: number, signal: AbortSignal): Promise<number> {
    const { parser } = this.#world;
    const now_ms = this.#now().monotonic_ms;
    const soon = next_ms > now_ms && next_ms <= now_ms + PREPARE_AHEAD_MS;
    if (lone === null || !soon || signal.aborted) return Infinity;
    const which = `${lone.name} ${lone.key}`;
    if (this.#tried === which) return Infinity;
    if (!parser.isReady()) return now_ms + READY_LOOK_MS;
    this.#tried = which;
    try {
      this.#prepared = await prepareFile(this.#world, lone, signal);
    } catch {
      // Whatever it was, it is said when the file is ripe, if it is still so.
    }
    return Infinity;
  }

  /** Remembers what became of a file; returns when to look at it again. */
  #note(file: RipeFile, outcome: TakeUpOutcome, taken: TakenFiles): number {
    switch (outcome.kind) {
      case "accepted":
      case "already":
        taken.add(file.name, outcome.submission_id, file.key);
        break;
      case "rejected":
        break;
      case "waits":
      case "trouble":
      case "stopped": {
        const pause_ms = outcome.kind === "waits" ? this.#options.min_age_ms : TROUBLE_PAUSE_MS;
        const again_ms = this.#now().monotonic_ms + pause_ms;
        this.#state = postpone(this.#state, file.name, again_ms);
        return again_ms;
      }
    }
    return Infinity;
  }

  /** When to look next; has a parser ready by the time that a file falls ripe. */
  #plan(next_ms: number, early_ms: number): number | null {
    const { parser } = this.#world;
    if (next_ms === Infinity) {
      parser.close();
      return null;
    }
    const left_ms = next_ms - this.#now().monotonic_ms;
    if (left_ms > WARM_AHEAD_MS) return next_ms - WARM_AHEAD_MS;
    if (this.#prepared === null) parser.warm();
    return left_ms > PREPARE_AHEAD_MS ? next_ms - PREPARE_AHEAD_MS : Math.min(next_ms, early_ms);
  }

  /** Puts the file of a submission away if that has ended; see `finishSubmission`. */
  async finish(submission_id: string): Promise<Placed | null> {
    const placed = await finishSubmission(this.#world, submission_id);
    if (placed !== null) this.#taken?.delete(submission_id);
    return placed;
  }

  /** Puts away all files whose submissions have ended, however they ended (a cancel, for one). */
  async finishEnded(): Promise<Pick<RecoveryReport, "placed" | "troubles">> {
    const report = await finishEnded(this.#world);
    for (const id of report.placed) this.#taken?.delete(id);
    return report;
  }

  async close(): Promise<void> {
    const { parser, trust } = this.#world;
    parser.close();
    // Where the runs are away, what was begun there is the journal's.
    if (trust.inbox() === null) await this.#dropPrepared();
  }
}
