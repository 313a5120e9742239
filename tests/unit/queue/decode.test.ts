import { expect, test } from "vitest";
import { decodeQueueFile, MAX_QUEUE_FILE_BYTES } from "../../../src/queue/index.ts";

const decode = (bytes: Uint8Array) => decodeQueueFile(bytes, "q.yaml");

test("UTF-8 is read, with or without a byte order mark", () => {
  expect(decode(Buffer.from("a: ä\n"))).toBe("a: ä\n");
  expect(decode(Buffer.from("\uFEFFa: 1"))).toBe("a: 1");
});

test.each([
  ["nothing", Buffer.alloc(0), /empty/],
  ["too much", Buffer.alloc(MAX_QUEUE_FILE_BYTES + 1, 0x20), /262145 bytes.*256 KiB/],
  ["UTF-16 with a mark", Buffer.from("\uFEFFa: 1\n", "utf16le"), /UTF-16/],
  ["UTF-16 without a mark", Buffer.from("a: 1\n", "utf16le"), /UTF-16/],
  [
    "Latin-1 in line 2",
    Buffer.from("a: 1\nb: \xe4\n", "latin1"),
    /q\.yaml:2: the text is not UTF-8/,
  ],
  ["Latin-1 in a last line", Buffer.from("a: 1\nb: \xe4", "latin1"), /q\.yaml:2: /],
])("%s is refused with the reason", (_name, bytes, message) => {
  expect(() => decode(bytes)).toThrow(message);
});

test("the largest file is still read", () => {
  expect(decode(Buffer.alloc(MAX_QUEUE_FILE_BYTES, 0x20))).toHaveLength(MAX_QUEUE_FILE_BYTES);
});
