import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { openSqliteStore, type Store } from "../src/store/index.ts";
import { entryOf, jobsOf, ownerOf, submissionOf, T0 } from "../tests/helpers/store-fixtures.ts";
import type { Measure } from "./measure.ts";

interface StoreBenchOptions {
  /** Also with 100,000 jobs waiting. */
  full: boolean;
  /** On the disk that is to be measured; default: the system's temporary directory. */
  dir?: string;
  log?: (line: string) => void;
}

const RUNNERS = { runners: ["local"] };
const ROUNDS = 7;
const CALLS = 40;
/** Of plain transactions with the same number of writes on the same disk. */
const LEAST_SHARE = 0.5;
/** Of the rate with ten jobs waiting. */
const LEAST_FLATNESS = 0.5;

/** The same settings as the store's, one table, one row changed: what the disk allows. */
class Plain {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #event: StatementSync;
  #next = 0;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, body TEXT) STRICT;
      CREATE TABLE events (seq INTEGER PRIMARY KEY, job INTEGER, state TEXT) STRICT;`);
    this.#insert = this.#db.prepare("INSERT INTO jobs VALUES (?, 'PENDING', ?)");
    this.#update = this.#db.prepare("UPDATE jobs SET state = 'CLAIMED' WHERE id = ?");
    this.#event = this.#db.prepare("INSERT INTO events (job, state) VALUES (?, ?)");
  }

  #transaction(work: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    work();
    this.#db.exec("COMMIT");
  }

  /** A row of the same size and an event. */
  insert(body: string): void {
    this.#transaction(() => {
      this.#next += 1;
      this.#insert.run(this.#next, body);
      this.#event.run(this.#next, "PENDING");
    });
  }

  /** A row changed by its key and an event. */
  update(): void {
    this.#transaction(() => {
      this.#update.run(this.#next);
      this.#event.run(this.#next, "CLAIMED");
    });
  }

  close(): void {
    this.#db.close();
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Calls a second of `call`, which may time only a part of itself by what it returns (ms). */
async function rate(call: () => Promise<number> | number): Promise<number> {
  let spent_ms = 0;
  for (let n = 0; n < CALLS; n += 1) spent_ms += await call();
  return (CALLS * 1000) / spent_ms;
}

function timed(work: () => void): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

async function timedClaim(store: Store): Promise<number> {
  const started = performance.now();
  const job = await store.claim("bench", T0, RUNNERS);
  const took_ms = performance.now() - started;
  if (job === undefined) throw new Error("nothing to claim");
  await store.interrupt(job.id, job.fence, T0, "handed back by the bench");
  return took_ms;
}

let files = 0;

async function timedAccept(store: Store): Promise<number> {
  files += 1;
  const id = `T${String(files).padStart(8, "0")}`;
  const started = performance.now();
  await store.accept(submissionOf(id, { accepted_at_ms: T0 + files }), jobsOf(id, [{}]));
  const took_ms = performance.now() - started;
  await store.cancel(`${id}-0`, T0);
  return took_ms;
}

interface Rates {
  claims: number;
  accepts: number;
  /** Of plain transactions, measured right after. */
  claim_share: number;
  accept_share: number;
}

/** A store with so many jobs waiting. */
class Bench {
  readonly waiting: number;
  readonly #store: Store;
  readonly #plain: Plain;
  readonly #body = JSON.stringify(entryOf());

  constructor(waiting: number, store: Store, plain: Plain) {
    this.waiting = waiting;
    this.#store = store;
    this.#plain = plain;
  }

  async round(): Promise<Rates> {
    const claims = await rate(() => timedClaim(this.#store));
    const updates = await rate(() => timed(() => this.#plain.update()));
    const accepts = await rate(() => timedAccept(this.#store));
    const inserts = await rate(() => timed(() => this.#plain.insert(this.#body)));
    return { claims, accepts, claim_share: claims / updates, accept_share: accepts / inserts };
  }

  async close(): Promise<void> {
    this.#plain.close();
    await this.#store.close();
  }
}

async function benchWith(waiting: number, dir: string): Promise<Bench> {
  const path = join(dir, `store-${waiting}.db`);
  const { store } = await openSqliteStore({ path, now_ms: T0, role: "owner" });
  await store.register(ownerOf("bench"), T0);
  const many = Array.from({ length: waiting }, () => ({}));
  await store.accept(submissionOf("S0"), jobsOf("S0", many));
  return new Bench(waiting, store, new Plain(join(dir, `plain-${waiting}.db`)));
}

function rowsOf(bench: Bench, rounds: readonly Rates[], smallest: readonly Rates[]): Measure[] {
  const rows: Measure[] = [];
  const at = `${bench.waiting.toLocaleString("en-US")} waiting`;
  for (const [what, share] of [
    ["claims", "claim_share"],
    ["accepts", "accept_share"],
  ] as const) {
    const note = `${Math.round(median(rounds.map((one) => one[what])))} a second`;
    const judged = (name: string, value: number, least: number) =>
      rows.push({ name, value, unit: "x", goal: `>= ${least}`, met: value >= least, note });
    const middle = median(rounds.map((one) => one[share]));
    judged(`${what} to plain SQLite, ${at}`, middle, LEAST_SHARE);
    if (rounds === smallest) continue;
    const ratios = rounds.map((one, round) => one[what] / (smallest[round]?.[what] ?? Number.NaN));
    judged(`${what} to those with 10, ${at}`, median(ratios), LEAST_FLATNESS);
  }
  return rows;
}

/**
 * Claims and taking-ups a second of the real store against what the disk allows. Stores of all
 * lengths and the plain files take turns, so that all meet the same disk and the same load.
 */
export async function benchStore(options: StoreBenchOptions): Promise<Measure[]> {
  const dir = mkdtempSync(join(options.dir ?? tmpdir(), "touchstoned-bench-"));
  const benches: Bench[] = [];
  try {
    for (const waiting of [10, 1000, 10_000, ...(options.full ? [100_000] : [])]) {
      options.log?.(`filling a store with ${waiting} jobs`);
      benches.push(await benchWith(waiting, dir));
    }
    const all = benches.map((): Rates[] => []);
    for (let round = 0; round <= ROUNDS; round += 1) {
      options.log?.(`round ${round} of ${ROUNDS}`);
      for (const [at, bench] of benches.entries()) {
        const rates = await bench.round();
        // The first round warms up statements and pages.
        if (round > 0) all[at]?.push(rates);
      }
    }
    const smallest = all[0] ?? [];
    return benches.flatMap((bench, at) => rowsOf(bench, all[at] ?? [], smallest));
  } finally {
    for (const bench of benches) await bench.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const rows = await benchStore({ full: process.argv.includes("--full"), log: console.error });
  console.log(JSON.stringify(rows, null, 2));
  if (rows.some(({ met }) => met === false)) process.exitCode = 1;
}
