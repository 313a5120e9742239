import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readLeaseInfo, writeLeaseInfo } from "../../../src/station/lease-info.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const HOLDER = {
  purpose: "slots run: ./ask.sh",
  runner: "llama",
  model: "tiny",
  since: "2026-01-02T03:04:05.000Z",
};

/** What is read where `change` was made to a record of ours. */
function readWith(change: Record<string, unknown>) {
  const lock_path = join(tempDir(), "model.lock");
  const record = { pid: 7, start_token: "1", boot_id: "b", slot: 2, ...HOLDER, ...change };
  writeFileSync(`${lock_path}.slot-2.info`, JSON.stringify(record));
  return readLeaseInfo(lock_path, 2);
}

test("what a holder writes is what others read", () => {
  const lock_path = join(tempDir(), "model.lock");
  writeLeaseInfo(lock_path, 1, { ...HOLDER, runner: null, model: null });
  expect(readLeaseInfo(lock_path, 1)).toMatchObject({
    ...HOLDER,
    pid: process.pid,
    slot: 1,
    runner: null,
    model: null,
  });
});

test("there is none where nobody wrote one", () => {
  expect(readLeaseInfo(join(tempDir(), "model.lock"), 1)).toBeUndefined();
});

test.each([
  { pid: 0 },
  { pid: "7" },
  { pid: 1.5 },
  { slot: -1 },
  { start_token: null },
  { boot_id: 5 },
  { purpose: null },
  { since: "x".repeat(201) },
  { runner: 3 },
  { model: { id: "tiny" } },
])("a record with %j says nothing", (change) => {
  expect(readWith(change)).toBeUndefined();
});

test("what anybody may have written does nothing to a terminal", () => {
  const read = readWith({ purpose: "a\u001b[2Jb\nc", model: "t\u0007" });
  expect(read?.purpose).not.toContain("\u001b");
  expect(read?.purpose).not.toContain("\n");
  expect(read?.model).not.toContain("\u0007");
});

test.each(["", "{", "[]", "null", '"text"'])("%j is no record", (text) => {
  const lock_path = join(tempDir(), "model.lock");
  writeFileSync(`${lock_path}.slot-1.info`, text);
  expect(readLeaseInfo(lock_path, 1)).toBeUndefined();
});
