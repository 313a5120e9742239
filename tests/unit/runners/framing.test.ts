import { array, assert, boolean, constantFrom, nat, property, string } from "fast-check";
import { expect, test } from "vitest";
import { FramingError, lineFraming, sseFraming } from "../../../src/runners/framing.ts";

type Kind = typeof sseFraming;

function split(framing: Kind, bytes: Buffer, cuts: readonly number[]): string[] {
  const messages: string[] = [];
  const reader = framing((message) => messages.push(message));
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    reader.feed(bytes.subarray(from, place));
    from = place;
  }
  reader.end();
  return messages;
}

const CUTS = array(nat(), { maxLength: 30 });
const WORDS = array(string({ unit: "grapheme", minLength: 1 }), { minLength: 1 });

test("server-sent events come out the same wherever the stream is cut, with LF and with CRLF", () => {
  assert(
    property(WORDS, CUTS, constantFrom("\n", "\r\n"), (words, cuts, end) => {
      const data = words.map((word) => JSON.stringify({ word }));
      const text = data.map((one) => `: ping${end}data: ${one}${end}${end}`).join("");
      expect(split(sseFraming, Buffer.from(text), cuts)).toEqual(data);
    }),
  );
});

test("lines come out the same wherever the stream is cut, and the last may lack its end", () => {
  assert(
    property(WORDS, CUTS, boolean(), (words, cuts, last) => {
      const data = words.map((word) => JSON.stringify({ word }));
      const bytes = Buffer.from(data.join("\n") + (last ? "\n" : ""));
      expect(split(lineFraming, bytes, cuts)).toEqual(data);
    }),
  );
});

test("comments, unknown fields, a byte order mark and several data lines are read as the standard says", () => {
  const text =
    "\uFEFF: hello\nretry: x\nfoo: 1\nevent: error\ndata: a\ndata:b\n\n: ping\n\ndata: c\n\n";
  expect(split(sseFraming, Buffer.from(text), [1, 2, 3])).toEqual(["a\nb", "c"]);
});

test("an event that the end of the stream cuts off is no event", () => {
  expect(split(sseFraming, Buffer.from('data: {"a":1}\n\ndata: {"b":'), [])).toEqual(['{"a":1}']);
});

test("blank lines between lines are left out", () => {
  expect(split(lineFraming, Buffer.from("\r\n{}\r\n\n{}\n"), [3])).toEqual(["{}\r", "{}"]);
});

test.each([
  ["an event", sseFraming, "data: "],
  ["a line", lineFraming, ""],
])("%s without an end is given up, not kept until memory is full", (_name, framing, start) => {
  const reader = framing(() => undefined);
  reader.feed(Buffer.from(start));
  const block = Buffer.alloc(8 << 20, "x");
  expect(() => {
    for (let i = 0; i < 6; i += 1) reader.feed(block);
  }).toThrow(FramingError);
});
