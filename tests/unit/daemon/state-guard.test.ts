import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stateFiles } from "../../../src/daemon/files.ts";
import { readSnapshot, writeSnapshot, type DaemonSnapshot } from "../../../src/daemon/snapshot.ts";
import { guardState } from "../../../src/daemon/state-guard.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function state() {
  const state_dir = join(tempDir(), "state");
  mkdirSync(state_dir);
  const files = stateFiles(state_dir);
  for (const path of [files.lock, files.store]) writeFileSync(path, "some bytes");
  return { state_dir, files, guard: guardState(files) };
}

test("a state that stays, and a store that grows, are no reason to end", () => {
  const { files, guard } = state();
  writeFileSync(files.store, "some bytes and more");
  expect(guard).not.toThrow();
});

test.each<[string, (files: ReturnType<typeof stateFiles>, dir: string) => void, RegExp]>([
  ["the state is gone", (_, dir) => rmSync(dir, { recursive: true }), /daemon\.lock was removed/],
  ["the store is gone", ({ store }) => rmSync(store), /queue\.db was removed/],
  [
    "another store is there",
    ({ store }) => {
      writeFileSync(`${store}.new`, "some bytes");
      renameSync(`${store}.new`, store);
    },
    /queue\.db was removed or replaced/,
  ],
  ["the store was cut", ({ store }) => truncateSync(store, 0), /queue\.db was truncated/],
])("%s: the daemon may not go on", (_what, change, message) => {
  const { files, state_dir, guard } = state();
  change(files, state_dir);
  expect(guard).toThrow(message);
  expect(guard).toThrow(expect.objectContaining({ code: "state_gone", exitCode: 69 }));
});

test("a snapshot that finds no room for a new file takes the place of the old one", () => {
  const path = join(tempDir(), "daemon.json");
  const snapshot = { schema_version: 1, root: "/a" } as DaemonSnapshot;
  writeSnapshot(path, snapshot);
  mkdirSync(`${path}.tmp`); // as a full disk does: the temporary file cannot be written
  writeSnapshot(path, { ...snapshot, barred: "disk low" });
  expect(readSnapshot(path)).toMatchObject({ root: "/a", barred: "disk low" });
});
