import fc from "fast-check";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { shortSha256 } from "../../../src/core/sha256.ts";

function reference(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

describe("shortSha256", () => {
  it("is SHA-256, at every length around the ends of a block", () => {
    for (let length = 0; length < 200; length += 1) {
      const text = "a".repeat(length);
      expect(shortSha256(text)).toBe(reference(text));
    }
  });

  it("is SHA-256 of the UTF-8 of whatever text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(shortSha256(text)).toBe(reference(text));
      }),
    );
  });
});
