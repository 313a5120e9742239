import { describe, expect, it } from "vitest";
import { bar, duration, terminal } from "../../../src/cli/render.ts";

function fakeStreams(isTTY: boolean) {
  let [out, err] = ["", ""];
  const stdout = { write: (text: string) => (out += text) } as unknown as NodeJS.WriteStream;
  const stderr = {
    isTTY,
    columns: 40,
    write: (text: string) => (err += text),
  } as unknown as NodeJS.WriteStream;
  return { streams: { stdout, stderr }, read: () => ({ out, err }) };
}

describe("terminal", () => {
  it("keeps the answer on stdout and everything else on stderr", () => {
    const { streams, read } = fakeStreams(false);
    const screen = terminal(streams);
    screen.out("answer");
    screen.err("said beside it");
    screen.json({ a: 1 });
    screen.status("never shown without a TTY");
    expect(read()).toEqual({ out: 'answer\n{\n  "a": 1\n}\n', err: "said beside it\n" });
    expect(screen.interactive).toBe(false);
  });

  it("redraws one row on a TTY and takes it away before a line", () => {
    const { streams, read } = fakeStreams(true);
    const screen = terminal(streams);
    screen.status("x".repeat(100));
    screen.err("line");
    screen.status("");
    const { err } = read();
    expect(err).toBe(`${"x".repeat(39)}\r\u001B[2Kline\n`);
  });
});

describe("names from outside", () => {
  it("cannot move the cursor, rename the window or take back a line", () => {
    const { streams, read } = fakeStreams(true);
    const screen = terminal(streams);
    screen.err("a\u001B[2Kb\u001B]0;t\u0007c\rd\u009B1A e\u0000");
    screen.out("\u001B[31mred\u001B[39m\tand\nmore");
    screen.status("\u001B[9A");
    const { out, err } = read();
    const mark = "\uFFFD";
    expect(err).toBe(`a${mark}[2Kb${mark}]0;t${mark}c${mark}d${mark}1A e${mark}\n${mark}[9A`);
    expect(out).toBe("\u001B[31mred\u001B[39m\tand\nmore\n");
  });
});

describe("bar", () => {
  it.each([
    [0, "[----] 	  0 %"],
    [0.5, "[##--] 	 50 %"],
    [1.7, "[####] 	170 %"],
  ])("%d", (share, text) => {
    expect(bar(share, 4)).toBe(text.replace("\t", ""));
  });
});

describe("duration", () => {
  it.each([
    [0.4, "0 s"],
    [59.4, "59 s"],
    [60, "1 min 00 s"],
    [185, "3 min 05 s"],
    [3720, "1 h 02 min"],
  ])("%d s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});
