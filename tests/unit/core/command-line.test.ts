import * as fc from "fast-check";
import { expect, test } from "vitest";
import { commandAllowed, splitCommand } from "../../../src/core/command-line.ts";

const words = (text: string): readonly string[] | string => {
  const split = splitCommand(text);
  return split.ok ? split.words : split.fault.message;
};

test.each([
  ["lms unload --all", ["lms", "unload", "--all"]],
  ["  a\t b\n", ["a", "b"]],
  ["'a b' \"c d\"", ["a b", "c d"]],
  ["a'b'\"c\"", ["abc"]],
  ["\"\" ''", ["", ""]],
  ['"say \\"x\\" \\\\ \\n"', ['say "x" \\ \\n']],
  ["'back\\slash'", ["back\\slash"]],
  ["two\\ words", ["two words"]],
  ["a && b | c > $HOME *", ["a", "&&", "b", "|", "c", ">", "$HOME", "*"]],
  ["", []],
])("%j is %j", (text, expected) => {
  expect(words(text)).toEqual(expected);
});

test.each(["'open", 'a "b', "a 'b\"c"])("%j is never closed", (text) => {
  expect(words(text)).toContain("never closed");
});

test("any words can be written so that they come back", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }), (given) => {
      const text = given.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(" ");
      expect(words(text)).toEqual(given);
    }),
  );
});

test("MODEL stands for one word that is no option, and never for the program", () => {
  const allowed = ["ollama stop MODEL", "MODEL x"];
  expect(commandAllowed(["ollama", "stop", "qwen3:8b"], allowed)).toBe(true);
  expect(commandAllowed(["ollama", "stop", "a b"], allowed)).toBe(true);
  for (const bad of [
    ["ollama", "stop"],
    ["ollama", "stop", "-x"],
    ["ollama", "stop", "a", "b"],
  ]) {
    expect(commandAllowed(bad, allowed)).toBe(false);
  }
  expect(commandAllowed(["sh", "x"], allowed)).toBe(false);
});
