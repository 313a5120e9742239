import { describe, expect, test } from "vitest";
import { answeredJson, checkFaults, countWords, runChecks } from "../../../src/eval/checks.ts";
import { compileSchema } from "../../../src/eval/json-schema.ts";
import type { PackCheck } from "../../../src/eval/pack.ts";

async function one(check: PackCheck, text: string | null, limit_ms?: number) {
  const [result] = await runChecks([check], text, limit_ms);
  return result;
}

// Each test with a thread in it starts one, which takes a while where many do.
describe("checks", { timeout: 60_000 }, () => {
  test("contains looks for the text as it is, case included", async () => {
    expect(await one({ contains: "Bar" }, "a Bar b")).toEqual({
      kind: "contains",
      passed: true,
      reason: null,
    });
    expect(await one({ contains: "Bar" }, "a bar b")).toMatchObject({
      passed: false,
      reason: 'does not contain "Bar"',
    });
  });

  test("regex takes its flags", async () => {
    expect(await one({ regex: "^b+$", flags: "im" }, "a\nBB\nc")).toMatchObject({ passed: true });
    expect(await one({ regex: "^b+$" }, "a\nBB\nc")).toMatchObject({ passed: false });
  });

  test("a catastrophic pattern is ended and stays undecided; the checks after it go on", async () => {
    const evil = `${"a".repeat(60)}!`;
    const started = performance.now();
    const results = await runChecks([{ regex: "(a+)+$" }, { regex: "!$" }], evil);
    expect(results).toEqual([
      { kind: "regex", passed: null, reason: "not decided within 1000 ms" },
      { kind: "regex", passed: true, reason: null },
    ]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(1000);
  });

  test("a catastrophic pattern inside a schema is ended as well", async () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    const evil = JSON.stringify(`${"a".repeat(60)}!`);
    expect(await one({ json_schema: schema }, evil, 300)).toMatchObject({
      passed: null,
      reason: "not decided within 300 ms",
    });
  });

  test("json_schema accepts bare and fenced JSON and says what does not fit", async () => {
    const json_schema = {
      type: "object",
      properties: { n: { $ref: "#/$defs/count" } },
      required: ["n"],
      $defs: { count: { type: "integer" } },
    };
    const fenced = 'Here:\n```json\n{"n": 3}\n```\nDone.';
    expect(await one({ json_schema }, fenced)).toMatchObject({ passed: true, reason: null });
    expect(await one({ json_schema }, '{"n": "x"}')).toMatchObject({
      passed: false,
      reason: "/n must be integer",
    });
    expect(await one({ json_schema }, "no")).toMatchObject({
      passed: false,
      reason: "is not JSON",
    });
    const validate = compileSchema(json_schema);
    expect(validate({})).toBe("the value must have required property 'n'");
    expect(answeredJson('~~~\n{"n": 3}\n~~~')).toEqual({ value: { n: 3 } });
    expect(answeredJson(' {"n": 3}\n')).toEqual({ value: { n: 3 } });
    expect(answeredJson("```\nno\n```")).toBeUndefined();
  });

  test("a draft-07 schema keeps its tuple form", () => {
    const validate = compileSchema({
      $schema: "http://json-schema.org/draft-07/schema#",
      items: [{ type: "string" }, { type: "number" }],
    });
    expect(validate(["a", 1])).toBeNull();
    expect(validate(["a", "b"])).toBe("/1 must be number");
  });

  test("max_words counts what stands between white space", async () => {
    expect(countWords("  one, two\n\tthree-four  ")).toBe(3);
    expect(countWords(" ")).toBe(0);
    expect(await one({ max_words: 2 }, "one two")).toMatchObject({ passed: true });
    expect(await one({ max_words: 2 }, "one two three")).toMatchObject({
      passed: false,
      reason: "3 words, allowed 2",
    });
  });

  test("equals compares the trimmed answer", async () => {
    expect(await one({ equals: "yes" }, "\n yes ")).toMatchObject({ passed: true });
    expect(await one({ equals: "yes\n" }, "yes")).toMatchObject({ passed: true });
    expect(await one({ equals: "yes" }, "Yes")).toMatchObject({ passed: false });
  });

  test("without an answer nothing is decided", async () => {
    expect(await one({ max_words: 5 }, null)).toEqual({
      kind: "max_words",
      passed: null,
      reason: "there is no answer",
    });
  });
});

describe("faults of a check itself", () => {
  test.each<[PackCheck, RegExp]>([
    [{ regex: "a(b" }, /regex: Invalid regular expression/],
    [{ regex: "[", flags: "u" }, /regex:/],
    [{ regex: "ok" }, /^none$/],
    [{ json_schema: { $ref: "https://example.org/schema.json" } }, /leaves the schema/],
    [{ json_schema: { properties: { a: { items: { $ref: "other.json#/x" } } } } }, /leaves/],
    [{ json_schema: { $ref: "#/$defs/missing" } }, /json_schema: can't resolve reference/],
    [{ json_schema: { type: "objekt" } }, /json_schema:/],
    [{ json_schema: { requierd: ["a"] } }, /unknown keyword/],
    [{ json_schema: { $schema: "http://json-schema.org/draft-04/schema#" } }, /not known/],
    [{ json_schema: { $ref: "#/$defs/a", $defs: { a: { type: "string" } } } }, /^none$/],
    [{ contains: "x" }, /^none$/],
  ])("%j", (check, fault) => {
    expect(checkFaults(check) ?? "none").toMatch(fault);
  });
});
