import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openSqliteStore } from "../../../src/store/index.ts";
import { sqliteInMemory } from "../../helpers/sqlite-memory.ts";
import { T0 } from "../../helpers/store-fixtures.ts";
import { agreesWithRules } from "./agreement.ts";
import { storeConformance } from "./conformance.ts";

const dir = mkdtempSync(join(tmpdir(), "touchstoned-store-"));
let files = 0;

afterAll(() => rmSync(dir, { recursive: true, force: true }));

storeConformance("SQLite", async () => {
  files += 1;
  const path = join(dir, `queue-${files}.db`);
  return (await openSqliteStore({ path, now_ms: T0, role: "owner" })).store;
});

test("agrees with the rules over 300 sequences of calls", async () => {
  await expect(agreesWithRules(() => sqliteInMemory().store)).resolves.toBeUndefined();
});
