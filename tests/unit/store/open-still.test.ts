import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { openSqliteStore, openStill } from "../../../src/store/index.ts";
import { jobsOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** Every file of a folder with a hash of what is in it. */
function everything(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, sha256Hex(readFileSync(join(folder, name)))]),
  );
}

async function filled(folder: string) {
  const path = join(folder, "queue.db");
  const { store } = await openSqliteStore({ path, now_ms: T0, role: "owner" });
  await store.accept(submissionOf("S"), jobsOf("S", [{}, {}]));
  return { path, store };
}

async function countOf(path: string): Promise<number | undefined> {
  const still = await openStill(path);
  const counts = await still?.store.counts();
  await still?.close();
  return counts?.PENDING;
}

describe("a look at the store", () => {
  it("finds nothing where there is none, and makes none", async () => {
    const folder = tempDir();
    expect(await openStill(join(folder, "queue.db"))).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("leaves a closed store as it is, and nothing beside it", async () => {
    const folder = tempDir();
    const { path, store } = await filled(folder);
    await store.close();
    const before = everything(folder);
    expect(Object.keys(before)).toEqual(["queue.db"]);
    expect(await countOf(path)).toBe(2);
    expect(everything(folder)).toEqual(before);
  });

  it("sees what a daemon that has it open wrote last", async () => {
    const folder = tempDir();
    const { path, store } = await filled(folder);
    await store.accept(submissionOf("T"), jobsOf("T", [{}]));
    expect(await countOf(path)).toBe(3);
    await store.close();
  });

  it("reads what a crash left in the log without touching it", async () => {
    const [folder, crashed] = [tempDir(), tempDir()];
    const { path, store } = await filled(folder);
    for (const tail of ["", "-wal"]) copyFileSync(path + tail, join(crashed, `queue.db${tail}`));
    await store.close();
    const before = everything(crashed);
    expect(await countOf(join(crashed, "queue.db"))).toBe(2);
    expect(everything(crashed)).toEqual(before);
  });

  it("cannot be written through", async () => {
    const { path, store } = await filled(tempDir());
    await store.close();
    const still = await openStill(path);
    await expect(still?.store.hold("S-0", T0)).rejects.toMatchObject({
      code: "store_no_permission",
    });
    await still?.close();
  });

  it("refuses what is no store, and what is damaged, and leaves both", async () => {
    const folder = tempDir();
    const other = join(folder, "other.db");
    writeFileSync(other, "no database".repeat(1000));
    await expect(openStill(other)).rejects.toMatchObject({ code: "store_unreadable" });
    const { path, store } = await filled(folder);
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 8192, 20_000);
    writeFileSync(path, bytes);
    const before = everything(folder);
    await expect(openStill(path)).rejects.toMatchObject({ code: "store_unreadable" });
    expect(everything(folder)).toEqual(before);
  });

  it("does not look into an older one, which the daemon brings up to date", async () => {
    const { path, store } = await filled(tempDir());
    await store.close();
    const bytes = readFileSync(path);
    bytes.writeUInt32BE(1, 60); // user_version of the header
    writeFileSync(path, bytes);
    await expect(openStill(path)).rejects.toMatchObject({ code: "store_older" });
    bytes.writeUInt32BE(99, 60);
    writeFileSync(path, bytes);
    await expect(openStill(path)).rejects.toMatchObject({ code: "store_newer" });
  });
});
