import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TouchstonedError } from "../../../src/core/errors.ts";
import { nestingBound } from "../../../src/core/yaml-depth.ts";
import { appendToList } from "../../../src/core/yaml-edit.ts";
import { checkShape, MAX_DEPTH, nearestKey, parseFile, parseText } from "../../../src/core/yaml.ts";

function errorOf(act: () => unknown): TouchstonedError {
  try {
    act();
  } catch (error) {
    if (error instanceof TouchstonedError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const settings = z.strictObject({
  entries: z.array(
    z.strictObject({
      pack: z.string(),
      model: z.union([z.string(), z.strictObject({ id: z.string(), quant: z.string() })]),
      settle: z.strictObject({ timeout_s: z.number() }).partial().optional(),
    }),
  ),
});

describe("parseText", () => {
  it("reads YAML and JSON", () => {
    expect(parseText("a: [1, two]\n", "f").value).toEqual({ a: [1, "two"] });
    expect(parseText('{"a": [1, "two"]}', "f").value).toEqual({ a: [1, "two"] });
    expect(parseText("", "f").value).toBeNull();
  });

  it("says the line and column of a syntax error", () => {
    const error = errorOf(() => parseText("a: 1\nb: [1, 2\nc: 3\n", "night.yaml"));
    expect(error.code).toBe("bad_yaml");
    expect(error.message).toMatch(/^night\.yaml:[23]:\d+: not valid YAML/);
    expect(error.exitCode).toBe(64);
  });

  it("refuses a key that is there twice, at every depth, with its place", () => {
    const error = errorOf(() => parseText("a:\n  - b: 1\n    c: 2\n    b: 3\n", "f.yaml"));
    expect(error.code).toBe("duplicate_key");
    expect(error.message).toBe('f.yaml:4:5: the key "b" is there twice');
  });

  it("takes a mapping of very many keys in linear time", () => {
    const count = 30_000;
    const text = Array.from({ length: count }, (_, i) => `k${i}: 1\n`).join("");
    const value = parseText(text, "f").value as object;
    expect(Object.keys(value)).toHaveLength(count);
  }, 30_000);

  it.each([
    ["900 nested brackets", "[".repeat(900)],
    ["900 nested braces", "{a: ".repeat(900)],
    ["900 closed brackets", "[".repeat(900) + "]".repeat(900)],
    ["5,000 dashes on one line", "- ".repeat(5000)],
    ["5,000 dashes behind a key", `a: ${"- ".repeat(5000)}`],
    ["5,000 question marks on one line", "? ".repeat(5000)],
    ["5,000 colons on one line", ": ".repeat(5000)],
    ["dashes and question marks in turn", "- ? ".repeat(2500)],
    ["100 dashes on one line", `${"- ".repeat(100)}x`],
    ["tabs between dashes", "-\t".repeat(5000)],
    [
      "600 levels of indentation",
      Array.from({ length: 600 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""),
    ],
    ["brackets behind a string of several lines", `? "\n k: |\n  " : ${"[".repeat(900)}`],
  ])("refuses %s, the second time as the first", (_, text) => {
    for (let round = 0; round < 2; round += 1) {
      expect(errorOf(() => parseText(text, "bomb.yaml")).code).toBe("too_deep");
    }
  });

  it.each([
    ["in quotes", `a: "${"[".repeat(100)}"\n`],
    ["in single quotes", `a: '${"{".repeat(100)}'\n`],
    ["in a block of text", `a: |\n  ${"[".repeat(100)}\n  x\nb: 1\n`],
    ["in a comment", `a: 1 # ${"[".repeat(100)}\n`],
    ["in a plain text", `a: x ${"[".repeat(100)}\n`],
    [
      "in a deeply indented text",
      `a: |\n${Array.from({ length: 50 }, (_, i) => `${" ".repeat(i + 2)}x\n`).join("")}`,
    ],
  ])("counts no brackets %s", (_, text) => {
    expect(nestingBound(text)).toBeLessThan(5);
    expect(() => parseText(text, "f")).not.toThrow();
  });

  it("allows nesting up to the limit", () => {
    const text = "[".repeat(MAX_DEPTH - 1) + "]".repeat(MAX_DEPTH - 1);
    expect(() => parseText(text, "f")).not.toThrow();
    expect(errorOf(() => parseText(`[[${text}]]`, "f")).code).toBe("too_deep");
  });

  it("refuses aliases of aliases before they grow", () => {
    const lines = ['a0: &a0 ["x", "x", "x", "x", "x", "x", "x", "x", "x"]'];
    for (let i = 1; i < 9; i += 1) {
      lines.push(`a${i}: &a${i} [${Array.from({ length: 9 }, () => `*a${i - 1}`).join(", ")}]`);
    }
    const error = errorOf(() => parseText(lines.join("\n"), "bomb.yaml"));
    expect(error.code).toBe("alias_bomb");
    expect(error.message).toContain("bomb.yaml");
  });

  it("refuses a tag that nobody knows, and a second document", () => {
    expect(errorOf(() => parseText("a: !!js/function 'x'\n", "f")).code).toBe("bad_yaml");
    expect(errorOf(() => parseText("a: 1\n---\nb: 2\n", "f")).code).toBe("bad_yaml");
  });

  it("keeps __proto__ a plain key", () => {
    const value = parseText("__proto__: {polluted: true}\n", "f").value;
    expect(Object.hasOwn(value as object, "__proto__")).toBe(true);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("knows where values, keys and the nearest parent of a missing value stand", () => {
    const parsed = parseText("a:\n  - b: 1\n    long: [x,\n      y]\n", "f");
    expect(parsed.position(["a", 0, "long", 1])).toEqual({ line: 4, column: 7 });
    expect(parsed.position(["a", 0, "long"], "key")).toEqual({ line: 3, column: 5 });
    expect(parsed.position(["a", 0, "nothing"])).toEqual({ line: 2, column: 5 });
    expect(parseText("", "f").position(["a"])).toBeNull();
  });
});

describe("checkShape", () => {
  it("lists everything that is wrong, with places and the nearest known keys", () => {
    const text = [
      "entries:",
      "  - pakc: p.yaml",
      "    model: m",
      "    settle: {timout_s: 5}",
      "  - pack: 7",
      "    model: {id: m, qant: q}",
    ].join("\n");
    const checked = checkShape(parseText(text, "f"), settings);
    if (checked.ok) throw new Error("must not pass");
    const found = checked.findings.map((f) => [f.path, f.message, f.position?.line, f.hint]);
    expect(found).toContainEqual(["entries.0", 'unknown key "pakc"', 2, 'Did you mean "pack"?']);
    expect(found).toContainEqual([
      "entries.0.settle",
      'unknown key "timout_s"',
      4,
      'Did you mean "timeout_s"?',
    ]);
    expect(found).toContainEqual([
      "entries.1.model",
      'unknown key "qant"',
      6,
      'Did you mean "quant"?',
    ]);
    expect(found.some(([path]) => path === "entries.1.pack")).toBe(true);
  });

  it("names the known keys where none is near", () => {
    const error = errorOf(() => parseFile("zzzzzz: 1\nentries: []\n", "q.yaml", settings));
    expect(error.message).toBe('q.yaml:1:1: unknown key "zzzzzz". Known keys here: entries.');
  });
});

describe("nearestKey", () => {
  it.each([
    ["runer", "runner"],
    ["Runner", "runner"],
    ["timout_s", "timeout_s"],
    ["xyz", undefined],
  ])("%s -> %s", (key, nearest) => {
    expect(nearestKey(key, ["runner", "timeout_s", "settle"])).toBe(nearest);
  });
});

describe("appendToList", () => {
  const written = `# mine
schema_version: 1 # keep

trusted_stations:
  # the big one
  - /home/a/one # since March
# - /home/a/off
runners: []
`;

  it("adds one line and leaves every comment where it was", () => {
    const edited = appendToList(written, "m.yaml", "trusted_stations", "/home/a/two: x");
    for (const comment of [
      "# mine",
      "# keep",
      "# the big one",
      "# since March",
      "# - /home/a/off",
    ]) {
      expect(edited).toContain(comment);
    }
    expect(parseText(edited, "m.yaml").value).toEqual({
      schema_version: 1,
      trusted_stations: ["/home/a/one", "/home/a/two: x"],
      runners: [],
    });
  });

  it("gives the same bytes back where the value is there", () => {
    expect(appendToList(written, "m.yaml", "trusted_stations", "/home/a/one")).toBe(written);
  });

  it.each([
    ["an empty file", ""],
    ["only comments", "# nothing yet\n"],
    ["no such key", "runners: []\n"],
    ["a key without a value", "trusted_stations:\n"],
    ["an empty flow list", "trusted_stations: []\n"],
  ])("makes the list in %s", (_, text) => {
    const edited = appendToList(text, "m.yaml", "trusted_stations", "/x");
    expect(parseText(edited, "m.yaml").value).toMatchObject({ trusted_stations: ["/x"] });
    for (const comment of text.match(/# .*/g) ?? []) expect(edited).toContain(comment);
  });

  it.each([
    ["a text", "trusted_stations: /a\n", "m.yaml:1:19: trusted_stations is not a list"],
    ["a list at the top", "- 1\n", "m.yaml: not a mapping of settings"],
    ["a scalar at the top", "hello\n", "m.yaml: not a mapping of settings"],
  ])("refuses %s in its place", (_, text, message) => {
    expect(errorOf(() => appendToList(text, "m.yaml", "trusted_stations", "/x")).message).toBe(
      message,
    );
  });
});

it("names a second document in the words of a file, not of a library", () => {
  expect(() => parseText("a: 1\n---\nb: 2\n", "f.yaml")).toThrow(
    /f\.yaml:2:\d+: a second document/,
  );
});
