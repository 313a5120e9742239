import { describe, expect, it } from "vitest";
import { printable } from "../../../src/core/text.ts";

describe("printable", () => {
  it.each([
    ["plain text, Ümläute, 漢字", "plain text, Ümläute, 漢字"],
    ["\u001B[2Jx", String.raw`\u001b[2Jx`],
    ["a\nb\r\tc\u0000", String.raw`a\u000ab\u000d\u0009c\u0000`],
    ["\u009B31m", String.raw`\u009b31m`],
    ["evil\u202Elmay.x", String.raw`evil\u202elmay.x`],
  ])("%j", (text, shown) => {
    expect(printable(text)).toBe(shown);
  });
});
