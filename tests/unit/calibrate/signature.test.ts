import fc from "fast-check";
import { expect, test } from "vitest";
import { exactSignature, structuralSignature } from "../../../src/calibrate/signature.ts";

const said = (text: string, ...calls: [string, string][]) => ({
  text,
  tool_calls: calls.map(([name, arguments_text], at) => ({ id: `id${at}`, name, arguments_text })),
});

test.each([
  [said("Hello"), "text:plain"],
  [said(" \n"), "text:empty"],
  [said("look:\n```ts\nx\n```"), "text:fenced"],
  [said(' {"a": [1]}\n'), "text:json"],
  [said("[1, 2]"), "text:json"],
  [said('{"a": '), "text:plain"],
  [said("42"), "text:plain"],
  [said("ignored", ["read", '{"path":"x","line":3}']), "tools:read(line,path)"],
  [said("", ["a", ""], ["b", "{}"]), "tools:a();b()"],
  [said("", ["a", "{oops"], ["b", "[1]"], ["c", "null"]), "tools:a(?);b(?);c(?)"],
])("%j has the structure %s", (answer, signature) => {
  expect(structuralSignature(answer)).toBe(signature);
});

test("the order of arguments is no structure, the order of calls is", () => {
  const [a, b] = [said("", ["f", '{"x":1,"y":2}']), said("", ["f", '{"y":9,"x":8}'])];
  expect(structuralSignature(a)).toBe(structuralSignature(b));
  const [fg, gf] = [said("", ["f", "{}"], ["g", "{}"]), said("", ["g", "{}"], ["f", "{}"])];
  expect(structuralSignature(fg)).not.toBe(structuralSignature(gf));
});

test("the exact signature sees values, and neither ids nor blanks in arguments", () => {
  const one = said("t", ["f", '{"x": 1, "y": 2}']);
  const same = said("t", ["f", '{"y":2,"x":1}']);
  expect(
    exactSignature({ ...same, tool_calls: [{ ...same.tool_calls[0], id: "other" } as never] }),
  ).toBe(exactSignature(one));
  for (const other of [
    said("t", ["f", '{"x":1,"y":3}']),
    said("u", ["f", '{"x":1,"y":2}']),
    said("t", ["f", "{broken"]),
    said("t"),
  ]) {
    expect(exactSignature(other)).not.toBe(exactSignature(one));
  }
});

test("no part of an answer is in its signatures but names", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 3 }), (secret) => {
      const answer = said(secret);
      expect(exactSignature(answer)).toMatch(/^[0-9a-f]{64}$/);
      expect(structuralSignature(answer)).toMatch(/^text:(plain|empty|fenced|json)$/);
    }),
  );
});
