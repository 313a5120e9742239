import { describe, expect, it } from "vitest";
import {
  cutLines,
  screenLines,
  terminalSvg,
  wrapLines,
} from "../../../scripts/terminal-picture.ts";

describe("a picture of a terminal", () => {
  it("keeps colours and weights", () => {
    expect(screenLines("\u001B[1m\u001B[32mok\u001B[39m\u001B[22m plain\n")).toEqual([
      [
        { text: "ok", style: "fill:#7ee787;font-weight:bold" },
        { text: " plain", style: "" },
      ],
    ]);
  });

  it("shows the last of the lines that were redrawn", () => {
    const drawn = screenLines("10 %\r\u001B[2K20 %\r\u001B[2Kdone\nnext\r\n\n");
    expect(drawn.map((line) => line.map(({ text }) => text).join(""))).toEqual(["done", "next"]);
  });

  it("goes on in the next row where a line is too long, and can be cut", () => {
    const texts = (lines: ReturnType<typeof screenLines>) =>
      lines.map((line) => line.map(({ text }) => text).join(""));
    const lines = screenLines("one\n\u001B[1mtwo\u001B[22m and more\nthree\nfour");
    expect(texts(wrapLines(lines, 8))).toEqual(["one", "two and ", "more", "three", "four"]);
    expect(texts(cutLines(lines, "two", "four"))).toEqual(["two and more", "three"]);
    expect(texts(cutLines(lines, "three", "nowhere"))).toEqual(["three", "four"]);
  });

  it("is well-formed whatever was printed", () => {
    const svg = terminalSvg(screenLines("a < b && c > d"), "t");
    expect(svg).toContain("a &lt; b &amp;&amp; c &gt; d");
    expect(svg.match(/<text/g)).toHaveLength(2);
  });
});
