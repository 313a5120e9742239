import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalJson,
  contentHash,
  jsonLine,
  parseJsonLenient,
  prettyJson,
  sha256Hex,
} from "../../../src/core/json.ts";

describe("canonicalJson", () => {
  it("gives the text of RFC 8785, section 3.2.3", () => {
    const value = {
      numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '€$\u000F\nA\'B"\\\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(contentHash(reversed)).toBe(contentHash(value));
      }),
    );
  });

  it("refuses what has no JSON form", () => {
    expect(() => canonicalJson(undefined)).toThrow(TypeError);
  });
});

describe("parseJsonLenient", () => {
  it("reads back whatever jsonLine and prettyJson wrote", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(parseJsonLenient(jsonLine(value))).toEqual(plain);
        expect(parseJsonLenient(prettyJson(value))).toEqual(plain);
      }),
    );
  });

  it.each([
    ['{"a":NaN}', { a: null }],
    ["[-Infinity,Infinity,1]", [null, null, 1]],
    [String.raw`{"t":"a \"NaN\" b","n":NaN}`, { t: 'a "NaN" b', n: null }],
    ["not json", undefined],
    ["", undefined],
  ])("%s", (line, expected) => {
    expect(parseJsonLenient(line)).toEqual(expected);
  });
});

it("hashes text and bytes alike", () => {
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect(sha256Hex("abc")).toBe(digest);
  expect(sha256Hex(Buffer.from("abc"))).toBe(digest);
});
