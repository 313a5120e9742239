import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  findObjects,
  parseFlag,
  parseReport,
  parseScore,
  parseVerdict,
  roundHalfEven,
} from "../../../src/eval/judge-parse.ts";

const hasScore = (object: Record<string, unknown>) => Object.hasOwn(object, "score");

const verdict = fc.record({
  score: fc.integer({ min: 1, max: 5 }),
  red_flag: fc.boolean(),
  // Braces, quotes, fences and thought marks inside the text are what breaks naive readers.
  rationale: fc
    .array(fc.constantFrom("{", "}", '"', "\\", "```", "</think>", "<think>", "\n", "ok ", "é"), {
      maxLength: 12,
    })
    .map((parts) => parts.join("").trim()),
});

/** Prose that may hold lone braces and quotes, but no verdict of its own. */
const prose = fc
  .array(fc.constantFrom("a", " ", "\n", "{", "}", '"', "'", "`", "{x}", "[1]", "score", ": 4"), {
    maxLength: 30,
  })
  .map((parts) => parts.join(""));

describe("finding JSON in a reply", () => {
  test("round trip through bare text, fences, thoughts and prose", () => {
    fc.assert(
      fc.property(
        verdict,
        prose,
        prose,
        fc.integer({ min: 0, max: 3 }),
        (value, before, after, form) => {
          const json = form % 2 === 0 ? JSON.stringify(value) : JSON.stringify(value, null, 2);
          const reply = [
            json,
            `${before}\n\`\`\`json\n${json}\n\`\`\`\n`,
            `<think>${before} {"score": 1}</think>\n${json}${after.replaceAll(/[{}]/g, "")}`,
            `${before} ${json} ${after}`,
          ][form];
          expect(parseVerdict(reply ?? "")).toEqual({ ok: true, verdict: value });
        },
      ),
    );
  });

  test("no reply makes it throw or run for long", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (reply) => {
        const reading = parseVerdict(reply);
        expect(typeof reading.ok).toBe("boolean");
      }),
    );
    expect(findObjects("{".repeat(150_000), hasScore)).toEqual([]);
  });

  test("a draft inside a thought is not a verdict", () => {
    const draft = '{"score": 5, "red_flag": false, "rationale": "draft"}';
    expect(findObjects(`<think>${draft}</think> I cannot say.`, hasScore)).toEqual([]);
    expect(findObjects(`${draft}</think> nothing more`, hasScore)).toEqual([]);
    expect(findObjects(`<think>${draft} and so on without an end`, hasScore)).toEqual([]);
    expect(findObjects(`<think>${draft}</think>{"score": 2}`, hasScore)).toEqual([{ score: 2 }]);
  });

  test("two verdicts that differ are no verdict, two that agree are one", () => {
    const quoted = '{"score": 5, "red_flag": false}';
    const own = '{"score": 1, "red_flag": true}';
    expect(parseVerdict(`The answer says ${quoted}. My verdict: ${own}`)).toEqual({
      ok: false,
      fault: "there are several verdicts that differ",
    });
    expect(parseVerdict(`${own}\n\nAgain: ${own}`)).toMatchObject({
      ok: true,
      verdict: { score: 1, red_flag: true },
    });
  });

  test("a verdict one level down is found", () => {
    expect(parseVerdict('{"result": {"score": 4, "red_flag": false, "rationale": "r"}}')).toEqual({
      ok: true,
      verdict: { score: 4, red_flag: false, rationale: "r" },
    });
  });

  test.each([
    ["", /no JSON object/],
    ["[4]", /no JSON object/],
    ['{"rationale": "no score"}', /no JSON object/],
    ['{"score": null, "red_flag": false}', /"score" is not a number/],
    ['{"score": "good", "red_flag": false}', /"score" is not a number/],
    ['{"score": 1e999, "red_flag": false}', /"score" is not a number/],
    ['{"score": Infinity, "red_flag": false}', /no JSON object/],
    ['{"score": NaN, "red_flag": false}', /no JSON object/],
    ['{"score": true, "red_flag": false}', /"score" is not a number/],
    ['{"score": 3}', /"red_flag" is neither/],
    ['{"score": 3, "red_flag": "perhaps"}', /"red_flag" is neither/],
  ])("%s is refused", (reply, fault) => {
    const reading = parseVerdict(reply);
    expect(reading.ok ? "" : reading.fault).toMatch(fault);
  });
});

describe("scores and flags", () => {
  test.each([
    [2.5, 2],
    [3.5, 4],
    [4.5, 4],
    [0.6, 1],
    [0.5, null],
    [-7, null],
    [5.5, null],
    [5.4, 5],
    [10, null],
    ["0", null],
    [2.4999, 2],
    ["4", 4],
    [" 3.6 ", 4],
    ["4/5", null],
    ["four", null],
    ["", null],
    [true, null],
    [[4], null],
    [undefined, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
  ])("score %j -> %j", (value, expected) => {
    expect(parseScore(value)).toBe(expected);
  });

  test("a score is the nearest whole number of the scale, or there is none", () => {
    fc.assert(
      fc.property(fc.double({ min: -20, max: 20, noNaN: true }), (value) => {
        const score = parseScore(value);
        const inside = value > 0.5 && value < 5.5;
        expect(score !== null).toBe(inside);
        if (score === null) return;
        expect(Number.isInteger(score) && score >= 1 && score <= 5).toBe(true);
        expect(parseScore(String(score))).toBe(score);
        expect(Math.abs(score - value)).toBeLessThanOrEqual(0.5);
      }),
    );
  });

  test("halves go to the even neighbour, also below zero", () => {
    expect([-1.5, -0.5, 0.5, 1.5, 2.5].map((value) => roundHalfEven(value) + 0)).toEqual([
      -2, 0, 0, 2, 2,
    ]);
  });

  test.each([
    [true, true],
    ["TRUE", true],
    [1, true],
    ["yes", true],
    [false, false],
    ["false", false],
    [" No ", false],
    [0, false],
    [null, null],
    ["maybe", null],
    [{}, null],
  ])("flag %j -> %j", (value, expected) => {
    expect(parseFlag(value)).toBe(expected);
  });
});

describe("reports", () => {
  test("takes objects and bare numbers, leaves out what has no score and keeps its reason", () => {
    const reply = `Report:\n${JSON.stringify({
      D1: { score: "4", rationale: "clear" },
      D2: 3,
      D3: { score: "n/a", rationale: "nothing seen" },
      other: 5,
    })}`;
    expect(parseReport(reply, ["D1", "D2", "D3", "D4"])).toEqual({
      dim_scores: { D1: 4, D2: 3 },
      dim_rationales: { D1: "clear", D3: "nothing seen" },
    });
  });

  test("finds it one level down and takes the fullest of several", () => {
    expect(parseReport('{"dimensions": {"D1": 2}}', ["D1"])?.dim_scores).toEqual({ D1: 2 });
    const reply = 'For example {"D1": 5}. Now mine: {"D1": 2, "D2": 3}';
    expect(parseReport(reply, ["D1", "D2"])?.dim_scores).toEqual({ D1: 2, D2: 3 });
  });

  test("a dimension with a name of the language's own is just a name", () => {
    expect(parseReport('{"D1": 1}', ["constructor", "toString"])).toBeNull();
    const report = parseReport('{"__proto__": {"score": 4}}', ["__proto__"]);
    expect(Object.entries(report?.dim_scores ?? {})).toEqual([["__proto__", 4]]);
  });

  test("nothing usable is null", () => {
    expect(parseReport("no", ["D1"])).toBeNull();
    expect(parseReport('{"D1": "bad"}', ["D1"])).toBeNull();
  });
});
