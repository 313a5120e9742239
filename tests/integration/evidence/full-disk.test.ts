import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileLog } from "../../../src/core/log.ts";
import { keepReserve } from "../../../src/core/reserve.ts";
import { deviceKey, EvidenceBook, outboxState } from "../../../src/evidence/index.ts";
import { SAMPLE_CREATED_MS, sampleEvidence, sampleParts } from "../../helpers/sample-evidence.ts";
import { fill, smallDisk } from "../../helpers/small-disk.ts";

test("evidence is kept on a disk that is full to the last byte", () => {
  const state_dir = smallDisk();
  if (state_dir === undefined) return;
  const book = new EvidenceBook(state_dir, deviceKey(state_dir));
  const evidence = sampleEvidence(state_dir, {
    created_ms: SAMPLE_CREATED_MS,
    parts: sampleParts(),
  });
  keepReserve(state_dir);
  fill(state_dir);
  book.write(evidence);
  expect(outboxState(state_dir).waiting).toBe(1);
  expect(readdirSync(state_dir)).not.toContain("reserve");
});

test("a full disk costs the diary lines, and none is glued to the half of another", () => {
  const dir = smallDisk();
  if (dir === undefined) return;
  const path = join(dir, "daemon.log");
  const log = fileLog(path);
  log.info("before");
  fill(dir);
  for (let n = 0; n < 200; n += 1) log.info({ n }, "x".repeat(100));
  for (const name of readdirSync(dir)) if (name.startsWith("filler")) rmSync(join(dir, name));
  log.info("after");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "before" });
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ msg: "after" });
  expect(lines.length).toBeLessThan(202);
});
