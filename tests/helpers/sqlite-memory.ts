import { DatabaseSync } from "node:sqlite";
import { SqliteStore } from "../../src/store/sqlite/adapter.ts";
import { Database } from "../../src/store/sqlite/database.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";

/** The SQLite store without a disk below it, and the connection to look behind it. */
export function sqliteInMemory(): { store: SqliteStore; raw: DatabaseSync; db: Database } {
  const raw = new DatabaseSync(":memory:");
  const db = new Database(raw, ":memory:");
  migrate(db);
  return { store: new SqliteStore(db), raw, db };
}
