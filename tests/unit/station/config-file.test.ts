import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configError, inputError } from "../../../src/core/errors.ts";
import {
  faultOf,
  faultsError,
  faultText,
  isWritten,
  lineOf,
  loadConfigFile,
  shortPlace,
} from "../../../src/station/config-file.ts";

const schema = z.strictObject({ a: z.strictObject({ b: z.number() }).partial().default({}) });

function refused(): never {
  throw configError("/x/f: it is a FIFO", "Put a file there.");
}

function broken(): never {
  throw new RangeError("bug");
}

describe("loadConfigFile", () => {
  it.each([
    ["a missing file", undefined],
    ["an empty one", ""],
    ["one of comments", "# nothing\n"],
  ])("takes %s for one that says nothing", (_, text) => {
    expect(loadConfigFile("f", schema, () => text)).toMatchObject({ value: { a: {} }, faults: [] });
  });

  it("keeps the defaults of a file that is wrong, and says what is wrong", () => {
    const file = loadConfigFile("/x/f", schema, () => "a: {b: text, c: 1}\n");
    expect(file.value).toEqual({ a: {} });
    expect(file.faults.map(({ key, line }) => [key, line])).toEqual([
      ["a.b", 1],
      ["a", 1],
    ]);
  });

  it("makes a fault of known trouble in reading, and throws what it does not know", () => {
    expect(loadConfigFile("/x/f", schema, refused).faults).toEqual([
      {
        file: "/x/f",
        line: null,
        column: null,
        key: "",
        message: "it is a FIFO",
        hint: "Put a file there.",
      },
    ]);
    expect(() => loadConfigFile("/x/f", schema, broken)).toThrow("bug");
  });
});

describe("faults", () => {
  it("take the place out of an error's message and put it back", () => {
    const fault = faultOf("/x/f", inputError("/x/f:3:7: not valid", "Mend it."));
    expect(fault).toMatchObject({ line: 3, column: 7, message: "not valid" });
    expect(faultText(fault)).toBe("/x/f:3:7: not valid. Mend it.");
  });

  it("keep a message that is about something else", () => {
    const fault = faultOf("/x/f", configError("no station"));
    expect(faultText(fault)).toBe("/x/f: no station.");
  });

  it("become one error with a line each", () => {
    const fault = { file: "f", line: 1, column: 2, key: "a", message: "bad", hint: null };
    const error = faultsError([fault, { ...fault, line: 4, message: "worse!" }]);
    expect(error.message).toBe("f:1:2: a: bad.\nf:4:2: a: worse!");
    expect(error.exitCode).toBe(78);
  });
});

describe("what a file says itself", () => {
  const file = loadConfigFile("/x/f.yaml", schema, () => "# top\na:\n  b: 1\n");
  it.each([
    [["a", "b"], true, 3, "f.yaml:3"],
    [["a"], true, 2, "f.yaml:2"],
    [["a", "c"], false, null, "f.yaml"],
    [["a", "b", "c"], false, null, "f.yaml"],
    [["toString"], false, null, "f.yaml"],
  ])("%j", (path, written, line, place) => {
    expect(isWritten(file, path)).toBe(written);
    expect(lineOf(file, path)).toBe(line);
    expect(shortPlace(file, path)).toBe(place);
  });
});

it.each([
  ["/x/f: it is a FIFO", "it is a FIFO"],
  ["/x/f cannot be a station", "cannot be a station"],
  ["something else", "something else"],
])("cuts the file off %s, and nothing more", (message, rest) => {
  expect(faultOf("/x/f", configError(message)).message).toBe(rest);
});
