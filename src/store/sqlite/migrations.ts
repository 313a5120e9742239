import { EXIT, TouchstonedError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { SCHEMA_V1 } from "./schema-v1.ts";
import { SCHEMA_V2 } from "./schema-v2.ts";

/** Number n takes a store from schema n - 1 to n. Forward only; entries are never changed. */
export const MIGRATIONS: readonly string[] = [SCHEMA_V1, SCHEMA_V2];

/** "tstq": tells our files from other programs' SQLite files. */
const APPLICATION_ID = 0x74_73_74_71;

function foreign(path: string): TouchstonedError {
  return new TouchstonedError({
    code: "store_foreign",
    exitCode: EXIT.bad_config,
    message: `${path} is an SQLite file of another program`,
    hint: "Move it away; touchstoned never overwrites it.",
  });
}

function newer(path: string, found: number, known: number): TouchstonedError {
  return new TouchstonedError({
    code: "store_newer",
    exitCode: EXIT.bad_config,
    message: `${path} has schema ${found}; this touchstoned knows schemas up to ${known}`,
    hint: "Use the newer touchstoned that wrote it, or upgrade this one. Nothing was changed.",
  });
}

/** Schema number of the file; 0 = empty. Throws `store_newer`, `store_foreign`. */
export function schemaVersion(db: Database, known: number): number {
  const version = db.pragma("user_version");
  const application = db.pragma("application_id");
  if (application !== APPLICATION_ID) {
    const tables = db.one<{ n: number }>("SELECT count(*) AS n FROM sqlite_master", {});
    if (application !== 0 || version !== 0 || (tables?.n ?? 0) > 0) throw foreign(db.path);
  }
  if (version > known) throw newer(db.path, version, known);
  return version;
}

/** Brings the store to the newest schema, each number in a transaction of its own. */
export function migrate(db: Database, migrations: readonly string[] = MIGRATIONS): void {
  for (;;) {
    if (schemaVersion(db, migrations.length) === migrations.length) return;
    db.write(() => {
      // Looked at again inside the transaction: another process may have been quicker.
      const version = schemaVersion(db, migrations.length);
      const script = migrations[version];
      if (script === undefined) return;
      db.script(script);
      db.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version + 1};`);
    });
  }
}
