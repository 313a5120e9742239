import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { EXIT, TouchstonedError } from "../../core/errors.ts";
import type { Store } from "../store.ts";
import { SqliteStore } from "./adapter.ts";
import { Database } from "./database.ts";
import { loadSqlite } from "./load.ts";
import { lookAt } from "./look-at.ts";
import { MIGRATIONS, schemaVersion } from "./migrations.ts";
import { named, unreadable } from "./trouble.ts";

/** A store that is only looked at. Its methods that write throw. */
export interface StillStore {
  store: Store;
  close(): Promise<void>;
}

/** Somebody waits for the answer. */
const BUSY_MS = 2000;

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function nothing(): void {}

/**
 * Where the store can be read without a byte of it, or beside it, being written. SQLite opens a file
 * with a log by making the two files beside it, also for a reader; with nothing in the log it needs
 * none of them (`immutable`), with both files there it joins those who have it open, and a log that
 * a crash left behind is read in a copy.
 */
function quietPlace(path: string): { file: string | URL; done: () => void } {
  if (sizeOf(`${path}-wal`) === 0) {
    const file = pathToFileURL(path);
    file.search = "?immutable=1";
    return { file, done: nothing };
  }
  if (existsSync(`${path}-shm`)) return { file: path, done: nothing };
  const directory = mkdtempSync(join(tmpdir(), "touchstoned-look-"));
  const copy = join(directory, "queue.db");
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  return { file: copy, done: () => rmSync(directory, { recursive: true, force: true }) };
}

function outdated(path: string, version: number): TouchstonedError {
  return new TouchstonedError({
    code: "store_older",
    exitCode: EXIT.unavailable,
    message: `${path} has schema ${version}; this touchstoned uses ${MIGRATIONS.length}`,
    hint: "The daemon brings it up to date when it starts.",
  });
}

/** What is wrong with the pages of the file, the first few; empty where nothing is. */
function pageFaults(db: Database): string[] {
  return db
    .all<{ quick_check: string }>("PRAGMA quick_check(5)")
    .map((row) => row.quick_check)
    .filter((verdict) => verdict !== "ok");
}

/**
 * Opens the queue's file for a look, and reads every page of it. Undefined where there is none; throws
 * as `openSqliteStore` does for a guest, and `store_older` where a daemon has yet to bring it up to
 * date. Writes nothing, wherever it is called.
 */
export async function openStill(path: string): Promise<StillStore | undefined> {
  const found = lookAt(path, "read");
  if (found === "nothing") return undefined;
  if (found === "other") throw unreadable(path, undefined);
  const { DatabaseSync } = await loadSqlite();
  const { file, done } = quietPlace(path);
  let db: Database | undefined;
  try {
    db = new Database(new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS }), path);
    const version = schemaVersion(db, MIGRATIONS.length);
    if (version < MIGRATIONS.length) throw outdated(path, version);
    const faults = pageFaults(db);
    if (faults.length > 0) throw unreadable(path, new Error(faults.join("; ")));
  } catch (error) {
    db?.close();
    done();
    throw named(path, error);
  }
  const store = new SqliteStore(db);
  return {
    store,
    async close() {
      await store.close();
      done();
    },
  };
}
