import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CappedLog, causeFrom } from "../../../src/steps/capped-log.ts";
import { forecast, JsonLinesTail, ProgressFold } from "../../../src/steps/event-tail.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

test("a tail gives each line once, however the bytes arrive", () => {
  const dir = tempDir();
  let file = 0;
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme" }), { maxLength: 8 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 8 }),
      (texts, cuts) => {
        const path = join(dir, String((file += 1)));
        const tail = new JsonLinesTail(path);
        let rest = Buffer.from(texts.map((text) => `${JSON.stringify({ text })}\n`).join(""));
        const rows: unknown[] = tail.read();
        for (let i = 0; rest.length > 0; i += 1) {
          const count = Math.max(1, cuts[i % cuts.length] ?? 1);
          appendFileSync(path, rest.subarray(0, count));
          rest = rest.subarray(count);
          rows.push(...tail.read());
        }
        expect(rows).toEqual(texts.map((text) => ({ text })));
      },
    ),
    { numRuns: 50 },
  );
});

test("a file that was cut is read from its start, and damaged lines are passed over", () => {
  const path = join(tempDir(), "events.jsonl");
  writeFileSync(path, '{"a":1}\nnot json\n{"a":2}\n{"a":');
  const tail = new JsonLinesTail(path);
  expect(tail.read()).toEqual([{ a: 1 }, { a: 2 }]);
  truncateSync(path);
  expect(tail.read()).toEqual([]);
  appendFileSync(path, '{"a":3}\n');
  expect(tail.read()).toEqual([{ a: 3 }]);
});

const cell = (prompt_id: string, ts: number, ok = true) => ({
  type: "cell_done",
  ts,
  ok,
  model: "m",
  variant: "v",
  prompt_id,
  repeat: 0,
});

test("cells count once; a cell that failed and then succeeded is no failure", () => {
  const fold = new ProgressFold();
  for (const event of [
    { type: "run_start", ts: 0, total: 4 },
    cell("a", 2, false),
    cell("b", 3),
    { type: "run_start", ts: 100, total: 4 },
    cell("a", 104),
    null,
    "text",
  ]) {
    fold.add(event);
  }
  expect(fold.progress()).toEqual({ total: 4, done: 2, failed: 0, cell_seconds: [4] });
});

test("a judge's verdicts count as well", () => {
  const fold = new ProgressFold();
  fold.add({ type: "judge_start", ts: 0, total: 2 });
  fold.add({ ...cell("a", 1), type: "verdict" });
  expect(fold.progress()).toMatchObject({ total: 2, done: 1 });
});

test("the forecast needs three cells, holds the mean, and is a range where cells differ", () => {
  const progress = { total: 10, done: 4, failed: 0 };
  expect(forecast({ ...progress, cell_seconds: [1, 1] })).toBeNull();
  expect(forecast({ ...progress, cell_seconds: [2, 2, 2, 2] })).toEqual({ low_s: 12, high_s: 12 });
  const range = forecast({ ...progress, cell_seconds: [1, 2, 3, 2] });
  expect(range?.low_s).toBeLessThan(12);
  expect(range?.high_s).toBeGreaterThan(12);
  expect(range?.low_s).toBeGreaterThanOrEqual(0);
  expect(forecast({ total: 4, done: 4, failed: 0, cell_seconds: [1, 1, 1] })).toBeNull();
});

test("a log keeps its beginning and its end within its limit", () => {
  const path = join(tempDir(), "eval.log");
  const log = new CappedLog(path, 200_000);
  appendFileSync(path, "first line\n");
  for (let round = 0; round < 20; round += 1) {
    appendFileSync(path, `${`${round} `.repeat(20_000)}\n`);
    log.trim();
    expect(readFileSync(path).length).toBeLessThan(200_000);
  }
  appendFileSync(path, "error: the last words\n");
  expect(log.tail()).toContain("error: the last words");
  log.close();
  const text = readFileSync(path, "utf8");
  expect(text.startsWith("first line")).toBe(true);
  expect(text).toMatch(/\[\.\.\. \d+ bytes left out \.\.\.\]/);
});

test("the tail of a log is that of this invocation", () => {
  const path = join(tempDir(), "eval.log");
  writeFileSync(path, "error: of yesterday\n");
  const log = new CappedLog(path);
  appendFileSync(path, "\u001B[31merror:\u001B[39m of today\n");
  expect(log.tail()).toBe("error: of today\n");
  log.close();
});

test.each([
  ["error: a\nhint: b", "a", "b"],
  ["noise\nerror: one\nmore: of it\nhint: do c\n", "one more: of it", "do c"],
  ["error: old\nerror: new", "new", null],
  ["a\nb\n\nc\nd\n", "b / c / d", null],
  ["", null, null],
])("the cause in %j", (output, error, advice) => {
  expect(causeFrom(output)).toEqual({ error, advice });
});

test("a cause is cut to a length that fits a summary", () => {
  expect(causeFrom(`error: ${"x".repeat(5000)}`).error?.length).toBeLessThan(700);
});
