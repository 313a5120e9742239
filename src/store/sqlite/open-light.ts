import { Database } from "./database.ts";
import { MIGRATIONS, schemaVersion } from "./migrations.ts";
import { loadSqlite } from "./load.ts";
import { named } from "./trouble.ts";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { existsSync } = process.getBuiltinModule("node:fs");

/** A person waits for the answer. */
const BUSY_MS = 500;

/** A connection that only reads; undefined where there is no store. */
export async function statusDatabase(path: string): Promise<Database | undefined> {
  if (!existsSync(path)) return undefined;
  const { DatabaseSync } = await loadSqlite();
  try {
    const raw = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    const db = new Database(raw, path);
    if (schemaVersion(db, MIGRATIONS.length) === MIGRATIONS.length) return db;
    db.close();
    return undefined; // being made, or of an older version that the daemon will bring up to date
  } catch (error) {
    throw named(path, error);
  }
}
