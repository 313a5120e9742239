import { expect, test } from "vitest";
import { gainWords, rangeWords } from "../../../src/core/gain-words.ts";

test.each([
  [1.413, "+41 %"],
  [0.93, "-7 %"],
  [1, "+0 %"],
])("a ratio of %j is %s", (ratio, text) => {
  expect(gainWords(ratio)).toBe(text);
});

test.each([
  [0.968, 1.1996, "-3.2 % to +19.9 %"],
  // An end that is just inside a limit is not shown as the limit.
  [1.10001, 1.19999, "+10.1 % to +19.9 %"],
  [1.1, 1.2, "+10.0 % to +20.0 %"],
  [1.7222, 1.7222, "+72.2 % to +72.2 %"],
  [1.7222, 1.7235, "+72.2 % to +72.4 %"],
  [0.24, 4.56, "-76.0 % to +356.0 %"],
])("from %d to %d is %s", (low, high, text) => {
  expect(rangeWords(low, high)).toBe(text);
});
