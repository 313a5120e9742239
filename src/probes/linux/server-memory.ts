import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { descendants } from "../process-family.ts";
import { known, megabytes, unknown, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/** Children are looked for this often: a runner starts few, and looking reads all of /proc. */
const TREE_REFRESH_MS = 5000;
/** A process may get another parent; what was learnt about parents is forgotten this often. */
const PARENTS_REFRESH_MS = 60_000;

const AT_PAGESZ = 6;

/** The page size from the auxiliary vector (pairs of 64-bit words), 4096 where it is not told. */
export function pageSize(auxv: Uint8Array): number {
  const words = new DataView(auxv.buffer, auxv.byteOffset, auxv.byteLength);
  for (let at = 0; at + 16 <= auxv.byteLength; at += 16) {
    if (words.getBigUint64(at, true) === BigInt(AT_PAGESZ)) {
      return Number(words.getBigUint64(at + 8, true));
    }
  }
  return 4096;
}

/** The parent in `/proc/PID/stat`; the name in brackets may hold blanks and brackets. */
export function parentOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2)[1]);
}

/**
 * Resident memory of a process and all its descendants. Pages that two of them share are counted
 * twice. Weights mapped from a file are in it as far as they are in memory.
 */
export class ServerMemory {
  readonly #pid: number;
  readonly #proc: string;
  readonly #clock: Clock;
  readonly #page_bytes: number;
  readonly #members = new Map<number, KeptFile>();
  readonly #parents = new Map<number, number>();
  #tree_at_ms = Number.NEGATIVE_INFINITY;
  #parents_at_ms = Number.NEGATIVE_INFINITY;
  #ended = false;

  constructor(pid: number, root: string, clock: Clock) {
    this.#pid = pid;
    this.#proc = join(root, "proc");
    this.#clock = clock;
    this.#page_bytes = pageSize(readFileSync(join(this.#proc, "self/auxv")));
    this.#members.set(pid, this.#statm(pid));
  }

  #statm(pid: number): KeptFile {
    return new KeptFile(join(this.#proc, String(pid), "statm"), 128);
  }

  read(): Reading<number> {
    const now_ms = this.#clock.monotonic_ms();
    if (!this.#ended && now_ms - this.#tree_at_ms >= TREE_REFRESH_MS) {
      this.#tree_at_ms = now_ms;
      this.#refresh(now_ms);
    }
    let pages = 0;
    for (const [pid, file] of this.#members) {
      const resident = this.#resident(file);
      if (resident === null && pid === this.#pid) return this.#end();
      if (resident === null) this.#drop(pid, file);
      else pages += resident;
    }
    return this.#ended ? this.#end() : known(megabytes(pages * this.#page_bytes));
  }

  /** Null for a process that has ended: a zombie has no pages, a reaped one no file. */
  #resident(file: KeptFile): number | null {
    try {
      const resident = Number(file.read().split(" ", 2)[1]);
      return resident > 0 ? resident : null;
    } catch {
      return null;
    }
  }

  /** Once ended it stays ended, so that a later process with the number is never taken for it. */
  #end(): Reading<number> {
    this.#ended = true;
    this.close();
    return unknown(`process ${this.#pid} has ended`);
  }

  #drop(pid: number, file: KeptFile): void {
    file.close();
    this.#members.delete(pid);
    this.#parents.delete(pid);
  }

  #refresh(now_ms: number): void {
    if (now_ms - this.#parents_at_ms >= PARENTS_REFRESH_MS) {
      this.#parents.clear();
      this.#parents_at_ms = now_ms;
    }
    const living = readdirSync(this.#proc).map(Number).filter(Number.isInteger);
    for (const pid of living) if (!this.#parents.has(pid)) this.#learn(pid);
    const alive = new Set(living);
    for (const pid of this.#parents.keys()) if (!alive.has(pid)) this.#parents.delete(pid);
    const family = descendants(this.#pid, this.#parents);
    for (const pid of family) {
      if (!this.#members.has(pid)) this.#members.set(pid, this.#statm(pid));
    }
  }

  #learn(pid: number): void {
    try {
      const stat = readFileSync(join(this.#proc, String(pid), "stat"), "latin1");
      this.#parents.set(pid, parentOf(stat));
    } catch {
      // It ended between the look at the list and this.
    }
  }

  close(): void {
    for (const file of this.#members.values()) file.close();
    this.#members.clear();
  }
}
