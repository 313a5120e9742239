import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openSqliteStore, type Store } from "../../../src/store/index.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { migrate, MIGRATIONS } from "../../../src/store/sqlite/migrations.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const SET_ASIDE = "queue.db.unreadable-2026-01-15T20-00-00Z";

function openAt(path: string, role: "owner" | "guest" = "owner") {
  return openSqliteStore({ path, now_ms: T0, role });
}

async function fill(store: Store, files: number): Promise<void> {
  for (let n = 0; n < files; n += 1) {
    const id = `S${String(n).padStart(4, "0")}`;
    await store.accept(submissionOf(id), jobsOf(id, [{}, {}, {}]));
  }
}

describe("opening", () => {
  test("makes what is not there, for its user only", async () => {
    const path = join(tempDir(), "state", "queue.db");
    const opened = await openAt(path);
    expect(opened).toMatchObject({ created: true, set_aside: null });
    await fill(opened.store, 1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    await opened.store.close();
    const again = await openAt(path);
    expect(again).toMatchObject({ created: false, set_aside: null });
    expect(await again.store.jobs()).toHaveLength(3);
    await again.store.close();
  });

  test("keeps what it says by syncing each change", async () => {
    const path = join(tempDir(), "queue.db");
    const { store } = await openAt(path);
    const db = new DatabaseSync(path);
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    db.close();
    await store.close();
  });

  test("a guest makes nothing", async () => {
    const dir = tempDir();
    const path = join(dir, "queue.db");
    await expect(openAt(path, "guest")).rejects.toMatchObject({
      code: "store_missing",
      exitCode: 69,
      hint: expect.stringContaining("touchstoned daemon"),
    });
    expect(readdirSync(dir)).toEqual([]);
  });
});

describe("an unreadable store", () => {
  test("that holds something else is set aside, never overwriting an earlier one", async () => {
    const dir = tempDir();
    const path = join(dir, "queue.db");
    for (const [n, name] of [SET_ASIDE, `${SET_ASIDE}-2`, `${SET_ASIDE}-3`].entries()) {
      writeFileSync(path, `not a database ${n} `.repeat(100));
      writeFileSync(`${path}-wal`, `log ${n}`);
      await expect(openAt(path, "guest")).rejects.toMatchObject({
        code: "store_unreadable",
        hint: expect.stringContaining("queue rebuild"),
      });
      const { store, created, set_aside } = await openAt(path);
      expect({ created, set_aside }).toEqual({ created: true, set_aside: join(dir, name) });
      expect(readFileSync(join(dir, name), "utf8")).toContain(`not a database ${n} `);
      expect(readFileSync(join(dir, `${name}-wal`), "utf8")).toBe(`log ${n}`);
      await fill(store, 1);
      expect(await store.check()).toEqual([]);
      await store.close();
    }
  });

  test.each([
    ["cut in the middle of a page", 100_001],
    ["cut at the end of a page", 65_536],
    ["cut within its head", 50],
  ])("%s is set aside", async (_what, bytes) => {
    const dir = tempDir();
    const path = join(dir, "queue.db");
    const first = await openAt(path);
    await fill(first.store, 100);
    await first.store.close();
    expect(statSync(path).size).toBeGreaterThan(200_000);
    truncateSync(path, bytes);
    const { store, created, set_aside } = await openAt(path);
    expect({ created, set_aside }).toEqual({ created: true, set_aside: join(dir, SET_ASIDE) });
    expect(statSync(join(dir, SET_ASIDE)).size).toBe(bytes);
    expect(await store.jobs()).toEqual([]);
    await store.close();
  });

  test("one with a spoilt page in the middle is found when it is opened", async () => {
    const path = join(tempDir(), "queue.db");
    const first = await openAt(path);
    await fill(first.store, 100);
    await first.store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 40_960, 45_056);
    writeFileSync(path, bytes);
    const { store, set_aside } = await openAt(path);
    expect(set_aside).not.toBeNull();
    await store.close();
  });

  test("a directory in its place is set aside", async () => {
    const dir = tempDir();
    mkdirSync(join(dir, "queue.db", "inner"), { recursive: true });
    await expect(openAt(join(dir, "queue.db"), "guest")).rejects.toMatchObject({
      code: "store_unreadable",
    });
    const { store, set_aside } = await openAt(join(dir, "queue.db"));
    expect(set_aside).toBe(join(dir, SET_ASIDE));
    expect(existsSync(join(dir, SET_ASIDE, "inner"))).toBe(true);
    await store.close();
  });

  test("an empty file counts as nothing there", async () => {
    const path = join(tempDir(), "queue.db");
    writeFileSync(path, "");
    const opened = await openAt(path);
    expect(opened).toMatchObject({ created: true, set_aside: null });
    await opened.store.close();
  });
});

describe("a store that may not be touched", () => {
  test("without permission: said so, nothing moved", async () => {
    const dir = tempDir();
    const path = join(dir, "queue.db");
    const { store } = await openAt(path);
    await store.close();
    chmodSync(path, 0o000);
    chmodSync(dir, 0o755);
    // The superuser may read everything, so the look is taken as somebody else.
    const script = `
      const { openSqliteStore } = await import(${JSON.stringify(
        fileURLToPath(new URL("../../../src/store/index.ts", import.meta.url)),
      )});
      openSqliteStore({ path: ${JSON.stringify(path)}, now_ms: 0, role: "owner" }).catch(
        (error) => console.log(JSON.stringify({ ...error, message: error.message })));`;
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      cwd: "/",
      ...nobody,
    });
    expect(child.stderr).toBe("");
    expect(JSON.parse(child.stdout)).toMatchObject({
      code: "store_no_permission",
      exitCode: 78,
      message: expect.stringContaining("permission denied"),
      hint: expect.stringContaining(`chmod u+rw '${path}'`),
    });
    expect(readdirSync(dir)).toEqual(["queue.db"]);
  });

  test("of a newer program: refused, nothing changed", async () => {
    const path = join(tempDir(), "queue.db");
    const { store } = await openAt(path);
    await store.close();
    const raw = new DatabaseSync(path);
    raw.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    raw.close();
    await expect(openAt(path)).rejects.toMatchObject({
      code: "store_newer",
      exitCode: 78,
      message: `${path} has schema ${MIGRATIONS.length + 1}; this touchstoned knows schemas up to ${MIGRATIONS.length}`,
    });
    expect(existsSync(join(path, "..", SET_ASIDE))).toBe(false);
  });

  test("of another program: refused, nothing changed", async () => {
    const path = join(tempDir(), "queue.db");
    const raw = new DatabaseSync(path);
    raw.exec("CREATE TABLE photos (id)");
    raw.close();
    await expect(openAt(path)).rejects.toMatchObject({ code: "store_foreign", exitCode: 78 });
  });

  test("locked by another process: busy, and not set aside", async () => {
    const path = join(tempDir(), "queue.db");
    const { store } = await openAt(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const own = new DatabaseSync(path);
    own.exec("PRAGMA busy_timeout = 1");
    const db = new Database(own, path);
    expect(() => db.write(() => 1)).toThrow(
      expect.objectContaining({ code: "store_busy", exitCode: 75 }),
    );
    other.exec("ROLLBACK");
    expect(db.write(() => 1)).toBe(1);
    db.close();
    other.close();
    await store.close();
  });
});

describe("trouble while it is open", () => {
  test("a full disk refuses the change whole, and the store goes on", async () => {
    const path = join(tempDir(), "queue.db");
    const { store: first } = await openAt(path);
    await first.close();
    const raw = new DatabaseSync(path);
    const db = new Database(raw, path);
    const { SqliteStore } = await import("../../../src/store/sqlite/adapter.ts");
    const store = new SqliteStore(db);
    const pages = db.pragma("page_count");
    raw.exec(`PRAGMA max_page_count = ${pages + 1}`);
    const many = jobsOf(
      "S1",
      Array.from({ length: 200 }, () => ({})),
    );
    await expect(store.accept(submissionOf("S1"), many)).rejects.toMatchObject({
      code: "store_full",
      exitCode: 69,
    });
    expect(await store.jobs()).toEqual([]);
    raw.exec("PRAGMA max_page_count = 1000000");
    expect((await store.accept(submissionOf("S1"), many)).outcome).toBe("accepted");
    expect(await store.check()).toEqual([]);
    await store.close();
  });

  test("after an error of the disk nothing more is said to be kept", () => {
    let broken = true;
    const raw = new DatabaseSync(":memory:");
    const db = new Database(raw, "queue.db");
    raw.function("disk", () => {
      if (broken) throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
      return 1;
    });
    expect(() => db.write(() => db.one("SELECT disk() AS ok"))).toThrow(
      expect.objectContaining({ code: "store_io", exitCode: 69 }),
    );
    broken = false;
    expect(() => db.one("SELECT disk() AS ok")).toThrow(
      expect.objectContaining({
        code: "store_io",
        message: expect.stringContaining("not trusted"),
      }),
    );
    db.close();
  });
});

describe("migrations", () => {
  const v2 = "ALTER TABLE owners ADD COLUMN mood TEXT";

  test("go on from where a file is, and only once", async () => {
    const raw = new DatabaseSync(":memory:");
    const db = new Database(raw, "queue.db");
    migrate(db);
    raw.exec(`INSERT INTO owners VALUES ('box', 'box', 1, '', '', 1, 1)`);
    migrate(db, [...MIGRATIONS, v2]);
    migrate(db, [...MIGRATIONS, v2]);
    expect(db.pragma("user_version")).toBe(MIGRATIONS.length + 1);
    expect(db.one("SELECT id, mood FROM owners")).toEqual({ id: "box", mood: null });
    db.close();
  });

  test("one that fails leaves the file as it was", () => {
    const raw = new DatabaseSync(":memory:");
    const db = new Database(raw, "queue.db");
    migrate(db);
    expect(() => migrate(db, [...MIGRATIONS, `${v2}; SELECT mood FROM nowhere`])).toThrow(
      "no such table: nowhere",
    );
    expect(db.pragma("user_version")).toBe(MIGRATIONS.length);
    expect(() => db.one("SELECT mood FROM owners")).toThrow("no such column");
    db.close();
  });

  test("a store of the first schema loads for ever", async () => {
    const path = join(tempDir(), "queue.db");
    const fixture = new URL("../../fixtures/store/v1.sql", import.meta.url);
    const raw = new DatabaseSync(path);
    raw.exec(readFileSync(fixture, "utf8"));
    raw.close();
    const { store, created } = await openAt(path);
    expect(created).toBe(false);
    expect(await store.check()).toEqual([]);
    expect(await store.counts()).toEqual({
      PENDING: 2,
      CLAIMED: 0,
      IN_PROGRESS: 1,
      COMPLETE: 1,
      FAILED: 2,
      CANCELLED: 1,
    });
    expect(await store.job("S1-0")).toMatchObject({ state: "COMPLETE", result: { cells_ok: 4 } });
    expect(await store.steps("S1-0")).toMatchObject([{ step: "eval", record: { seconds: 9 } }]);
    expect(await store.blocked(T0, { runners: ["local"] })).toMatchObject({
      held: 1,
      waiting_on_others: 1,
      not_due: 1,
      running: 1,
    });
    const running = await store.job("S1-1");
    await store.complete("S1-1", running?.fence ?? 0, T0, {});
    await store.register(ownerOf("box-2"), T0);
    expect((await store.claim("box-2", T0, { runners: ["local"] }))?.id).toBe("S1-3");
    expect(await store.check()).toEqual([]);
    await store.close();
  });
});
