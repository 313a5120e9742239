import fc from "fast-check";
import { expect, test } from "vitest";
import { coldMessages, nonceText, warmth } from "../../../src/calibrate/cold.ts";
import type { ChatMessage } from "../../../src/runners/index.ts";

const MESSAGES: ChatMessage[] = [
  { role: "system", content: "You help." },
  { role: "user", content: "Hello" },
];

test("every nonce has the same length, character by character digit or blank", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), (nonce, turn_id, round) => {
      expect(nonceText(nonce, turn_id, round)).toMatch(/^\d( \d){11}$/);
    }),
  );
});

test("it depends on block, turn and round, and on nothing else", () => {
  const all = ["b1", "b2"].flatMap((nonce) =>
    ["t1", "t2"].flatMap((turn) => [0, 1].map((round) => nonceText(nonce, turn, round))),
  );
  expect(new Set(all).size).toBe(8);
  expect(nonceText("b1", "t1", 0)).toBe(all[0]);
  // A turn called `x` in block `ab` is no turn `bx` in block `a`.
  expect(nonceText("ab", "x", 0)).not.toBe(nonceText("a", "bx", 0));
});

test("a nonce stands before everything else, and the rest stays as it is", () => {
  const key = { nonce: "b", turn_id: "t", round: 0 };
  const [first, second] = coldMessages(MESSAGES, "nonce", key);
  expect(first).toEqual({ role: "system", content: `${nonceText("b", "t", 0)}\nYou help.` });
  expect(second).toBe(MESSAGES[1]);
  expect(MESSAGES[0]?.content).toBe("You help.");
});

test("where the cache is off the prompts are the corpus's own", () => {
  const key = { nonce: "b", turn_id: "t", round: 0 };
  expect(coldMessages(MESSAGES, "cache_off", key)).toBe(MESSAGES);
  expect(coldMessages([], "nonce", key)).toEqual([]);
});

test.each([
  [0, "cache_off", null],
  [1, "cache_off", "1 of 900 prompt tokens came from a cache"],
  [64, "nonce", null],
  [65, "nonce", "65 of 900 prompt tokens came from a cache"],
  [null, "nonce", null],
] as const)("%s cached tokens with %s: %s", (cached, cold, expected) => {
  expect(warmth(cached, 900, cold)).toBe(expected);
});
