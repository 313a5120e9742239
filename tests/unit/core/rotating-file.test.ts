import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileLog } from "../../../src/core/log.ts";
import { RotatingFile } from "../../../src/core/rotating-file.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function openLog(path: string, change: { max_bytes?: number; files?: number } = {}): RotatingFile {
  let now_ms = Date.parse("2026-11-29T13:40:35Z");
  const file = new RotatingFile({
    path,
    max_bytes: 100,
    files: 3,
    mode: 0o600,
    now_ms: () => (now_ms += 1000),
    ...change,
  });
  onTestFinished(() => file.close());
  return file;
}

/** All lines that are left, the oldest first. */
function linesIn(dir: string): string[] {
  const names = readdirSync(dir).sort();
  const [present, ...aside] = names;
  return [...aside, present ?? ""].flatMap((name) =>
    readFileSync(join(dir, name), "utf8")
      .split("\n")
      .filter((line) => line !== ""),
  );
}

test("it is set aside before it grows too long, and the oldest are removed", () => {
  const dir = tempDir();
  const log = openLog(join(dir, "daemon.log"));
  for (let n = 0; n < 60; n += 1) log.write(`line ${String(n).padStart(14, "0")}\n`);
  const names = readdirSync(dir).sort();
  expect(names).toHaveLength(3);
  expect(names[0]).toBe("daemon.log");
  expect(names[1]).toMatch(/^daemon\.log\.2026-11-29T13-\d\d-\d\d\.\d{3}Z\.\d+$/);
  for (const name of names) {
    const { size, mode } = statSync(join(dir, name));
    expect(size).toBeLessThanOrEqual(100);
    expect(mode & 0o777).toBe(0o600);
  }
  const lines = linesIn(dir);
  expect(lines.at(-1)).toBe("line 00000000000059");
  expect(lines).toHaveLength(15);
});

test("a line longer than the whole file is written as it is", () => {
  const dir = tempDir();
  const log = openLog(join(dir, "daemon.log"));
  log.write(`${"x".repeat(300)}\n`);
  log.write("short\n");
  expect(linesIn(dir).map((line) => line.length)).toEqual([300, 5]);
});

test("two processes that write at once lose no line, whoever sets it aside", () => {
  const dir = tempDir();
  const path = join(dir, "daemon.log");
  const both = [openLog(path, { files: 100 }), openLog(path, { files: 100 })];
  for (let n = 0; n < 100; n += 1) both[n % 2]?.write(`line ${String(n).padStart(14, "0")}\n`);
  const lines = linesIn(dir);
  expect(lines).toHaveLength(100);
  expect(new Set(lines).size).toBe(100);
  for (const name of readdirSync(dir)) {
    expect(statSync(join(dir, name)).size).toBeLessThanOrEqual(100);
  }
});

test("what others lay beside it is not touched", () => {
  const dir = tempDir();
  for (const name of [
    "daemon.log.old",
    "daemon.log.2026",
    "other.log.2026-11-29T13-40-35.123Z.1",
  ]) {
    writeFileSync(join(dir, name), "");
  }
  const log = openLog(join(dir, "daemon.log"), { files: 1 });
  for (let n = 0; n < 20; n += 1) log.write(`line ${String(n).padStart(14, "0")}\n`);
  expect(readdirSync(dir)).toHaveLength(4);
});

test("a file that was removed, or moved by a person, is begun anew", () => {
  const dir = tempDir();
  const path = join(dir, "logs", "daemon.log");
  const log = openLog(path);
  log.write("one\n");
  rmSync(join(dir, "logs"), { recursive: true });
  log.write("two\n");
  expect(readFileSync(path, "utf8")).toBe("two\n");
});

test("an older one that others may read is for its owner from now on", () => {
  const path = join(tempDir(), "daemon.log");
  writeFileSync(path, "old\n");
  chmodSync(path, 0o644);
  openLog(path).write("new\n");
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["old\nnew\n", 0o600]);
});

test("where it cannot be written nothing is thrown, and it goes on when it can", () => {
  const dir = tempDir();
  const path = join(dir, "daemon.log");
  mkdirSync(path);
  const log = openLog(path);
  log.write("lost\n");
  rmSync(path, { recursive: true });
  log.write("kept\n");
  expect(readFileSync(path, "utf8")).toBe("kept\n");
});

test("a full device takes lines and gives no error (Linux)", () => {
  const log = openLog("/dev/full");
  log.write("lost\n");
  log.write("lost as well\n");
  expect(() => log.write("and this\n")).not.toThrow();
});

test("the daemon's diary has a time and a level in each line", () => {
  const path = join(tempDir(), "daemon.log");
  fileLog(path).warn({ job: "7" }, "a word");
  appendFileSync(path, "");
  const line: unknown = JSON.parse(readFileSync(path, "utf8"));
  expect(line).toMatchObject({ level: 40, job: "7", msg: "a word", time: expect.any(String) });
});
