import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { trimLog, trimMiddle } from "../../../src/core/capped-file.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const MAX = 10_000;

function leftOut(text: string): number[] {
  return [...text.matchAll(/\[\.\.\. (\d+) bytes left out \.\.\.\]/g)].map(([, n]) => Number(n));
}

test("all that was ever left out is counted, in one mark, whoever trims", () => {
  const path = join(tempDir(), "eval.log");
  let written = 0;
  for (let round = 0; round < 30; round += 1) {
    const text = `${`round ${round} `.repeat(600)}\n`;
    appendFileSync(path, text);
    written += text.length;
    trimLog(path, MAX);
    const now = readFileSync(path, "utf8");
    const [count = 0, ...more] = leftOut(now);
    const mark = count === 0 ? 0 : `\n[... ${count} bytes left out ...]\n`.length;
    expect([more, now.length - mark + count]).toEqual([[], written]);
    expect(now.length).toBeLessThanOrEqual(MAX + 64);
    expect(now.startsWith("round 0 round 0")).toBe(true);
    expect(now.endsWith(`round ${round} \n`)).toBe(true);
  }
});

test("one that is short enough is left as it is", () => {
  const path = join(tempDir(), "eval.log");
  writeFileSync(path, "x".repeat(MAX));
  trimLog(path, MAX);
  expect(statSync(path).size).toBe(MAX);
});

test("a process that has it open for appending writes on at its end", () => {
  const path = join(tempDir(), "runner.log");
  const theirs = openSync(path, "a");
  appendFileSync(theirs, "y".repeat(3 * MAX));
  trimLog(path, MAX);
  appendFileSync(theirs, "the last words");
  closeSync(theirs);
  const text = readFileSync(path, "utf8");
  expect(text.endsWith("ythe last words")).toBe(true);
  expect(leftOut(text)).toEqual([2 * MAX]);
});

test("one that is gone or closed is no trouble", () => {
  const path = join(tempDir(), "eval.log");
  expect(() => trimLog(join(path, "nothing"), MAX)).not.toThrow();
  const fd = openSync(path, "a+");
  closeSync(fd);
  expect(() => trimMiddle(fd, MAX)).not.toThrow();
});
