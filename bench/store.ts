import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { openSqliteStore, type Store } from "../src/store/index.ts";
import { entryOf, jobsOf, ownerOf, submissionOf, T0 } from "../tests/helpers/store-fixtures.ts";

/** One line of a bench report. `goal` and `met` are null where the figure is for comparison only. */
export interface BenchRow {
  name: string;
  value: number;
  unit: string;
  goal: string | null;
  met: boolean | null;
}

export interface StoreBenchOptions {
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

interface Measured {
  claims: number;
  accepts: number;
  claim_share: number;
  accept_share: number;
}

/** Store and plain transactions take turns, so that both meet the same disk and the same load. */
async function measureAt(waiting: number, dir: string): Promise<Measured> {
  const opened = await openSqliteStore({
    path: join(dir, `store-${waiting}.db`),
    now_ms: T0,
    role: "owner",
  });
  const { store } = opened;
  const plain = new Plain(join(dir, `plain-${waiting}.db`));
  await store.register(ownerOf("bench"), T0);
  const many = Array.from({ length: waiting }, () => ({}));
  await store.accept(submissionOf("S0"), jobsOf("S0", many));
  const body = JSON.stringify(entryOf());
  const rounds: Measured[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const claims = await rate(() => timedClaim(store));
    const updates = await rate(() => timed(() => plain.update()));
    const accepts = await rate(() => timedAccept(store));
    const inserts = await rate(() => timed(() => plain.insert(body)));
    const shares = { claim_share: claims / updates, accept_share: accepts / inserts };
    // The first round warms up statements and pages.
    if (round > 0) rounds.push({ claims, accepts, ...shares });
  }
  plain.close();
  await store.close();
  const middle = (key: keyof Measured) => median(rounds.map((one) => one[key]));
  return {
    claims: middle("claims"),
    accepts: middle("accepts"),
    claim_share: middle("claim_share"),
    accept_share: middle("accept_share"),
  };
}

function judged(name: string, value: number, unit: string, least: number): BenchRow {
  return { name, value, unit, goal: `>= ${least}`, met: value >= least };
}

function rowsOf(waiting: number, found: Measured, first: Measured): BenchRow[] {
  const at = `${waiting.toLocaleString("en-US")} waiting`;
  const rows: BenchRow[] = [];
  for (const what of ["claims", "accepts"] as const) {
    const share = what === "claims" ? found.claim_share : found.accept_share;
    const name = `store ${what}, ${at}`;
    rows.push({ name, value: found[what], unit: "1/s", goal: null, met: null });
    rows.push(judged(`${name}, of plain SQLite`, share, "x", LEAST_SHARE));
    if (found === first) continue;
    const flat = found[what] / first[what];
    rows.push(judged(`${name}, of the rate with 10`, flat, "x", LEAST_FLATNESS));
  }
  return rows;
}

/** Claims and taking-ups a second of the real store against what the disk allows. */
export async function benchStore(options: StoreBenchOptions): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(options.dir ?? tmpdir(), "touchstoned-bench-"));
  const rows: BenchRow[] = [];
  try {
    let first: Measured | undefined;
    for (const waiting of [10, 1000, 10_000, ...(options.full ? [100_000] : [])]) {
      options.log?.(`store with ${waiting} jobs waiting`);
      const found = await measureAt(waiting, dir);
      first ??= found;
      rows.push(...rowsOf(waiting, found, first));
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return rows;
}

if (import.meta.main) {
  const rows = await benchStore({ full: process.argv.includes("--full"), log: console.error });
  console.log(JSON.stringify(rows, null, 2));
  if (rows.some(({ met }) => met === false)) process.exitCode = 1;
}
