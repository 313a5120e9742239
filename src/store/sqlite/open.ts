import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { EXIT, systemErrorCode, TouchstonedError } from "../../core/errors.ts";
import { ensureDir, syncDir } from "../../core/files.ts";
import type { Store } from "../store.ts";
import { SqliteStore } from "./adapter.ts";
import { Database } from "./database.ts";
import { lookAt } from "./look-at.ts";
import { migrate } from "./migrations.ts";
import { loadSqlite } from "./load.ts";
import { setAside, setCompanionsAside } from "./set-aside.ts";
import { isUnreadable, named, notPermitted, unreadable } from "./trouble.ts";

export interface SqliteOptions {
  path: string;
  now_ms: number;
  /**
   * What to do where nothing usable is there. `owner`: make the file, and set an unreadable one
   * aside; only for who holds the station's lock. `guest`: throw `store_missing` or
   * `store_unreadable` and touch nothing.
   */
  role: "owner" | "guest";
  /** Reads every page first, so that damage is found now and not at night. Default: for owners. */
  verify?: boolean;
}

export interface OpenedStore {
  store: Store;
  /** Nothing was there (or an empty file): what the files know is not in it. */
  created: boolean;
  /** Where an unreadable file was moved, or null. */
  set_aside: string | null;
}

const BUSY_MS = 10_000;

const SETTINGS = `
PRAGMA busy_timeout = ${BUSY_MS};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
`;

function create(path: string): void {
  try {
    ensureDir(dirname(path), 0o700);
    closeSync(openSync(path, "a", 0o600));
    // SQLite syncs the file; that its name is there after a power cut is ours to see to.
    syncDir(dirname(path));
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EACCES" || code === "EPERM" || code === "EROFS") throw notPermitted(path, error);
    throw error;
  }
}

function verifyPages(db: DatabaseSync): void {
  const rows = db.prepare("PRAGMA quick_check(1)").all();
  const verdict = Object.values(rows[0] ?? {})[0];
  if (verdict === "ok") return;
  // Has the shape of SQLite's own error, so that both are told from others in one place.
  throw Object.assign(new Error(String(verdict)), { errcode: 11 });
}

async function connect(path: string, verify: boolean): Promise<Database> {
  const { DatabaseSync } = await loadSqlite();
  const db = new DatabaseSync(path);
  try {
    db.exec(SETTINGS);
    if (verify) verifyPages(db);
    const database = new Database(db, path);
    migrate(database);
    return database;
  } catch (error) {
    db.close();
    throw error;
  }
}

function missing(path: string): TouchstonedError {
  return new TouchstonedError({
    code: "store_missing",
    exitCode: EXIT.unavailable,
    message: `there is no queue store at ${path}`,
    hint: "The daemon makes one when it starts: touchstoned daemon",
  });
}

function saysUnreadable(error: unknown): boolean {
  return (
    isUnreadable(error) || (error instanceof TouchstonedError && error.code === "store_unreadable")
  );
}

/**
 * Opens the queue's SQLite file. Throws `store_newer`, `store_foreign`, `store_no_permission` (exit
 * 78), `store_busy` (75), `store_missing`, `store_unreadable`, `store_io` (69); see `role`.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { path, role } = options;
  const owner = role === "owner";
  const verify = options.verify ?? owner;
  let found = lookAt(path);
  let set_aside: string | null = null;
  if (!owner && found === "nothing") throw missing(path);
  if (found === "sqlite") {
    try {
      const store = new SqliteStore(await connect(path, verify));
      return { store, created: false, set_aside };
    } catch (error) {
      if (!saysUnreadable(error)) throw named(path, error);
      if (!owner) throw unreadable(path, error);
    }
  }
  if (found !== "nothing") {
    if (!owner) throw unreadable(path, undefined);
    set_aside = setAside(path, options.now_ms);
    found = "nothing";
  }
  if (set_aside === null) setCompanionsAside(path, options.now_ms);
  create(path);
  try {
    return { store: new SqliteStore(await connect(path, false)), created: true, set_aside };
  } catch (error) {
    throw named(path, error);
  }
}
