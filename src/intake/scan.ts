import { join } from "node:path";
import { fileKey, type Disk, type DiskStat } from "../core/disk.ts";
import { errorMessage } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import { judgeName, twinKey } from "./names.ts";
import { ripeness, type Moment, type Seen } from "./ripeness.ts";

/** What one scan leaves for the next one. Never changed in place. */
export interface ScanState {
  seen: ReadonlyMap<string, Seen>;
  /** Warnings that were given, so that each is given once for as long as it holds. */
  warned: ReadonlySet<string>;
  /** Last name that was looked at, where the inbox holds more than one scan looks at. */
  cursor: string | null;
}

export const NO_SCAN_YET: ScanState = { seen: new Map(), warned: new Set(), cursor: null };

export interface ScanOptions {
  inbox: string;
  min_age_ms: number;
  /** Most files looked at in one scan; the next one goes on behind them. */
  max_looks: number;
  /** Keys of the files whose submissions are open, by name: they stay where they are. */
  taken: ReadonlyMap<string, ReadonlySet<string>>;
}

/** A file at rest. */
export interface RipeFile {
  name: string;
  path: string;
  stat: DiskStat;
  key: string;
}

export interface ScanReport {
  state: ScanState;
  /** Oldest first. */
  ripe: RipeFile[];
  /** Files that may become ripe by themselves. */
  waiting: number;
  /** The only one of them, where none is ripe and none was left out; else null. */
  lone: RipeFile | null;
  /** Names that this scan did not look at because there are too many. */
  not_looked_at: number;
  /** When a file may fall ripe, monotonic; null where none waits. */
  next_due_ms: number | null;
  /** Each said once. */
  warnings: string[];
}

/** A file whose times are ahead by less is no news: clocks of two machines differ. */
const AHEAD_WORTH_A_WORD_MS = 2000;

function newest({ stat }: RipeFile): bigint {
  return stat.mtime_ns > stat.ctime_ns ? stat.mtime_ns : stat.ctime_ns;
}

function byAge(a: RipeFile, b: RipeFile): number {
  if (newest(a) !== newest(b)) return newest(a) < newest(b) ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

class Scan {
  readonly #disk: Disk;
  readonly #options: ScanOptions;
  readonly #before: ScanState;
  readonly #now: Moment;
  readonly #seen = new Map<string, Seen>();
  readonly #standing = new Set<string>();
  readonly #warnings: string[] = [];
  readonly #ripe: RipeFile[] = [];
  #next_due_ms: number | null = null;
  readonly #waiting: RipeFile[] = [];

  constructor(disk: Disk, options: ScanOptions, before: ScanState, now: Moment) {
    this.#disk = disk;
    this.#options = options;
    this.#before = before;
    this.#now = now;
  }

  #warn(name: string, why: string): void {
    const text = `inbox/${printable(name)}: ${why}`;
    if (!this.#before.warned.has(text) && !this.#standing.has(text)) this.#warnings.push(text);
    this.#standing.add(text);
  }

  #due(at_ms: number): void {
    this.#next_due_ms = Math.min(this.#next_due_ms ?? Infinity, at_ms);
  }

  /** The names to look at now: those that can be queue files, behind the last one of before. */
  #candidates(names: string[]): { now: string[]; later: number } {
    const first = new Map<string, string>();
    const candidates: string[] = [];
    // A name that is taken goes before its twin, else the first in the order of code units.
    const taken = (name: string): number => (this.#options.taken.has(name) ? 0 : 1);
    for (const name of names.toSorted((a, b) => taken(a) - taken(b) || (a < b ? -1 : 1))) {
      const verdict = judgeName(name);
      if (verdict.kind === "odd") this.#warn(name, `left in place: ${verdict.why}`);
      if (verdict.kind !== "candidate") continue;
      const twin = first.get(twinKey(name));
      if (twin === undefined) {
        first.set(twinKey(name), name);
        candidates.push(name);
      } else {
        const why = `differs from ${twin} only in case or in the form of its letters; rename it`;
        this.#warn(name, `left in place: ${why}`);
      }
    }
    candidates.sort();
    const { max_looks } = this.#options;
    const { cursor } = this.#before;
    if (candidates.length <= max_looks) return { now: candidates, later: 0 };
    const start = cursor === null ? 0 : candidates.findIndex((name) => name > cursor);
    const turned = [
      ...candidates.slice(Math.max(0, start)),
      ...candidates.slice(0, Math.max(0, start)),
    ];
    return { now: turned.slice(0, max_looks), later: candidates.length - max_looks };
  }

  #look(name: string): void {
    const path = join(this.#options.inbox, name);
    let stat: DiskStat | undefined;
    try {
      stat = this.#disk.lstat(path);
    } catch (error) {
      this.#warn(name, `cannot be looked at: ${errorMessage(error)}`);
      const seen = this.#before.seen.get(name);
      if (seen !== undefined) this.#seen.set(name, seen);
      return;
    }
    if (stat === undefined) return; // gone since the directory was read
    if (stat.kind === "directory") {
      this.#warn(name, "left in place: it is a directory");
      return;
    }
    if (this.#options.taken.get(name)?.has(fileKey(stat)) === true) return;
    const found = ripeness(this.#before.seen.get(name), stat, this.#now, this.#options.min_age_ms);
    this.#seen.set(name, found.seen);
    if (found.ahead_ms > AHEAD_WORTH_A_WORD_MS) {
      this.#warn(name, "its times are in the future, so only how long it stays the same counts");
    }
    const file = { name, path, stat, key: found.seen.key };
    if (found.ripe) {
      this.#ripe.push(file);
      return;
    }
    this.#waiting.push(file);
    this.#due(this.#now.monotonic_ms + found.wait_ms);
  }

  run(): ScanReport {
    const names = this.#disk.readdir(this.#options.inbox);
    const candidates = this.#candidates(names);
    for (const name of candidates.now) this.#look(name);
    if (candidates.later > 0) {
      // What was not looked at keeps what is known of it.
      const looked = new Set(candidates.now);
      for (const name of names) {
        const seen = this.#before.seen.get(name);
        if (seen !== undefined && !looked.has(name)) this.#seen.set(name, seen);
      }
      this.#due(this.#now.monotonic_ms + this.#options.min_age_ms);
    }
    const alone = this.#waiting.length === 1 && this.#ripe.length === 0 && candidates.later === 0;
    return {
      state: {
        seen: this.#seen,
        warned: this.#standing,
        cursor: candidates.later > 0 ? (candidates.now.at(-1) ?? null) : null,
      },
      ripe: this.#ripe.sort(byAge),
      waiting: this.#waiting.length,
      lone: alone ? (this.#waiting[0] ?? null) : null,
      not_looked_at: candidates.later,
      next_due_ms: this.#next_due_ms,
      warnings: this.#warnings,
    };
  }
}

/**
 * Looks at the inbox once. Changes nothing on the disk. Throws only where the inbox itself cannot be
 * read; a file that cannot be looked at is a warning and loses no other one.
 */
export function scanInbox(
  state: ScanState,
  now: Moment,
  disk: Disk,
  options: ScanOptions,
): ScanReport {
  return new Scan(disk, options, state, now).run();
}

/** The file is not taken up before `not_before_ms` (monotonic), unless it changes. */
export function postpone(state: ScanState, name: string, not_before_ms: number): ScanState {
  const seen = state.seen.get(name);
  if (seen === undefined) return state;
  return { ...state, seen: new Map(state.seen).set(name, { ...seen, not_before_ms }) };
}
