import { extname, join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isoTime } from "../core/clock.ts";
import { readCron, type CronPattern } from "../core/cron.ts";
import { ensureDirSynced, type Disk } from "../core/disk.ts";
import { errorMessage } from "../core/errors.ts";
import type { UlidSource } from "../core/ids.ts";
import { sha256Hex } from "../core/json.ts";
import { submitFile } from "../intake/resident.ts";
import { MAX_QUEUE_FILE_BYTES } from "../queue/resident.ts";
import type { Scheduled } from "../station/resident.ts";
import type { Store } from "../store/index.ts";
import { readScheduleState, writeScheduleState, type ScheduledState } from "./schedule-state.ts";

const HOUR_MS = 3_600_000;
/** A daemon that is up may be so late and is on time. */
const LATE_MS = 5 * 60_000;
/** What was settled so far in the future was settled by a clock that was wrong. */
const CLOCK_WAS_AHEAD_MS = 26 * HOUR_MS;

/** An entry as `status` shows it. Times are RFC 3339. */
export interface ScheduledView {
  name: string;
  /** null where the calendar has none any more. */
  next: string | null;
  /** Why what is due is not dropped. */
  trouble: string | null;
}

export interface ScheduleDeps {
  disk: Disk;
  clock: Pick<Clock, "now_ms">;
  new_id: UlidSource;
  store: Pick<Store, "submissions">;
  inbox: string;
  /** Where it remembers what was dropped. */
  state_path: string;
  /** So long a file must be as it is. */
  min_age_ms: number;
  /** The real path of a file of the station; throws where it leads out. */
  locate: (file: string) => string;
  /** Why a file may not be believed; null where it may. */
  distrust: (path: string) => string | null;
  say: (text: string) => void;
  warn: (text: string) => void;
}

interface Due {
  entry: Scheduled;
  state: ScheduledState;
  now_ms: number;
}

type Reading =
  | { kind: "bytes"; bytes: Buffer }
  /** It is being written. */
  | { kind: "moves"; again_ms: number };

/** Drops queue files into the inbox at their times: each time once, whatever happens in between. */
export class Schedule {
  readonly #deps: ScheduleDeps;
  readonly #patterns = new Map<string, CronPattern>();
  #states: Map<string, ScheduledState> | null = null;
  /** What is on the disk is older than what we know. */
  #unsaved = false;
  readonly #troubles = new Map<string, string>();

  constructor(deps: ScheduleDeps) {
    this.#deps = deps;
  }

  #pattern(text: string): CronPattern {
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const reading = readCron(text);
    if (!reading.ok) throw new Error(reading.message);
    this.#patterns.set(text, reading.pattern);
    return reading.pattern;
  }

  #save(states: ReadonlyMap<string, ScheduledState>): void {
    this.#unsaved = true;
    writeScheduleState(this.#deps.disk, this.#deps.state_path, states);
    this.#unsaved = false;
  }

  #load(): Map<string, ScheduledState> {
    const { disk, state_path, warn } = this.#deps;
    this.#states ??= readScheduleState(disk, state_path) ?? null;
    if (this.#states === null) {
      warn(`${state_path} cannot be read: what the schedule missed is not caught up`);
      this.#states = new Map();
    }
    return this.#states;
  }

  /** States of what is scheduled now; a new entry has no past, and one that is gone has no future. */
  #sync(entries: readonly Scheduled[], now_ms: number): Map<string, ScheduledState> {
    const states = this.#load();
    let changed = this.#unsaved;
    for (const { name, at } of entries) {
      const state = states.get(name);
      const ahead = state !== undefined && state.until_ms - now_ms > CLOCK_WAS_AHEAD_MS;
      if (ahead) this.#deps.warn(`schedule ${name}: the clock was ahead; counted anew from now on`);
      if (state?.at === at && !ahead) continue;
      states.set(name, { at, until_ms: now_ms, dropping: null });
      changed = true;
    }
    const names = new Set(entries.map(({ name }) => name));
    for (const name of states.keys()) {
      if (names.has(name)) continue;
      states.delete(name);
      this.#troubles.delete(name);
      changed = true;
    }
    if (changed) this.#save(states);
    return states;
  }

  #trouble(name: string, text: string | null): void {
    const before = this.#troubles.get(name) ?? null;
    if (text === null) this.#troubles.delete(name);
    else this.#troubles.set(name, text);
    if (text !== null && text !== before) this.#deps.warn(`schedule ${name}: ${text}`);
  }

  /** Drops what is due. Returns what comes next, and when to look again, wall clock. */
  async look(
    entries: readonly Scheduled[],
  ): Promise<{ views: ScheduledView[]; next_ms: number | null }> {
    const now_ms = this.#deps.clock.now_ms();
    const states = this.#sync(entries, now_ms);
    const views: ScheduledView[] = [];
    let next_ms: number | null = null;
    for (const entry of entries) {
      const state = states.get(entry.name);
      if (state === undefined) continue;
      const again_ms = await this.#settle({ entry, state, now_ms });
      const coming_ms = this.#pattern(entry.at).next(Math.max(state.until_ms, now_ms));
      const soonest_ms = Math.min(again_ms ?? Infinity, coming_ms ?? Infinity);
      if (soonest_ms < (next_ms ?? Infinity)) next_ms = soonest_ms;
      const trouble = this.#troubles.get(entry.name) ?? null;
      const next = coming_ms === null ? null : isoTime(coming_ms);
      views.push({ name: entry.name, next, trouble });
    }
    return { views, next_ms };
  }

  /** Returns when to try again, where what is due could not be dropped yet. */
  async #settle(due: Due): Promise<number | null> {
    const { entry, state, now_ms } = due;
    const { name } = entry;
    try {
      if (state.dropping !== null) await this.#endDrop(state, state.dropping);
      const missed_ms = this.#pattern(entry.at).next(state.until_ms);
      if (missed_ms === null || missed_ms > now_ms) {
        this.#trouble(name, null);
        return null;
      }
      const oldest_ms = now_ms - Math.max(entry.catch_up_hours * HOUR_MS, LATE_MS);
      const late_ms = this.#pattern(entry.at).next(Math.max(state.until_ms, oldest_ms - 1));
      if (late_ms === null || late_ms > now_ms) {
        this.#settled(state, now_ms);
        const why = this.#troubles.get(name);
        this.#trouble(name, null);
        const because = why === undefined ? "" : ` (${why})`;
        this.#deps.warn(`schedule ${name}: ${isoTime(missed_ms)} was missed for good${because}`);
        return null;
      }
      return await this.#drop(due, late_ms);
    } catch (error) {
      this.#trouble(name, errorMessage(error));
      return null;
    }
  }

  #settled(state: ScheduledState, now_ms: number): void {
    [state.until_ms, state.dropping] = [now_ms, null];
    this.#save(this.#states ?? new Map());
  }

  /** A drop that a crash interrupted has happened where its bytes are in the inbox or taken up. */
  async #endDrop(
    state: ScheduledState,
    { sha256, at_ms }: NonNullable<ScheduledState["dropping"]>,
  ): Promise<void> {
    const { store } = this.#deps;
    const taken = await store.submissions({ sha256 });
    const dropped =
      taken.some(({ accepted_at_ms }) => accepted_at_ms >= at_ms) || this.#inInbox(sha256) !== null;
    if (dropped) this.#settled(state, Math.max(state.until_ms, at_ms));
    else state.dropping = null;
  }

  /** Name of a file in the inbox that has these bytes. */
  #inInbox(sha256: string, size?: number): string | null {
    const { disk, inbox } = this.#deps;
    ensureDirSynced(disk, inbox, 0o755);
    for (const name of disk.readdir(inbox)) {
      if (name.startsWith(".")) continue;
      const path = join(inbox, name);
      const stat = disk.lstat(path);
      if (stat?.kind !== "file" || (size !== undefined && stat.size !== size)) continue;
      if (stat.size > MAX_QUEUE_FILE_BYTES) continue;
      if (sha256Hex(disk.read(path, MAX_QUEUE_FILE_BYTES).bytes) === sha256) return name;
    }
    return null;
  }

  #read(file: string, now_ms: number): Reading {
    const { disk, locate, distrust, min_age_ms } = this.#deps;
    const path = locate(file);
    const stat = disk.lstat(path);
    if (stat === undefined) throw new Error(`${path}: no such file`);
    if (stat.kind !== "file") throw new Error(`${path} is no regular file`);
    const fault = distrust(path);
    if (fault !== null) throw new Error(fault);
    const changed_ns = stat.mtime_ns > stat.ctime_ns ? stat.mtime_ns : stat.ctime_ns;
    const rested_ms = now_ms - Number(changed_ns / 1_000_000n);
    // A time in the future says nothing.
    if (rested_ms >= 0 && rested_ms < min_age_ms) {
      return { kind: "moves", again_ms: now_ms - rested_ms + min_age_ms };
    }
    const { before, after, bytes } = disk.read(path, MAX_QUEUE_FILE_BYTES);
    const same = before.size === after.size && before.mtime_ns === after.mtime_ns;
    if (!same || (bytes.length !== after.size && bytes.length <= MAX_QUEUE_FILE_BYTES)) {
      return { kind: "moves", again_ms: now_ms + min_age_ms };
    }
    return { kind: "bytes", bytes };
  }

  async #drop({ entry, state, now_ms }: Due, time_ms: number): Promise<number | null> {
    const { disk, new_id, inbox, say, store } = this.#deps;
    const { name, file } = entry;
    const reading = this.#read(file, now_ms);
    if (reading.kind === "moves") return reading.again_ms;
    const { bytes } = reading;
    const sha256 = sha256Hex(bytes);
    const late = now_ms - time_ms > LATE_MS ? `, caught up for ${isoTime(time_ms)}` : "";
    const there = this.#inInbox(sha256, bytes.length);
    const open = await store.submissions({ sha256, open: true });
    const twin = there ?? open[0]?.id ?? null;
    if (twin !== null) {
      this.#settled(state, now_ms);
      this.#trouble(name, null);
      const what = there === null ? `submission ${twin}` : twin;
      say(
        `schedule ${name}: ${file} is in work still (${what}), so it is not dropped again${late}`,
      );
      return null;
    }
    // First the intention: a crash from here on neither forgets the drop nor repeats it.
    state.dropping = { sha256, at_ms: now_ms };
    this.#save(this.#states ?? new Map());
    const given = submitFile({
      disk,
      new_id,
      inbox,
      name: `${name}${extname(file).toLowerCase()}`,
      bytes,
      if_taken: "rename",
    });
    [state.until_ms, state.dropping] = [now_ms, null];
    this.#trouble(name, null);
    say(`schedule ${name}: ${file} was dropped into the inbox as ${given}${late}`);
    try {
      this.#save(this.#states ?? new Map());
    } catch {
      // Its intention is on the disk, and this is tried again with the next look.
    }
    return null;
  }
}
