import { describe, expect, it } from "vitest";
import {
  directoriesOf,
  graft,
  mktreeInput,
  parseObjects,
  parseTree,
  type TreeEntry,
} from "../../../src/evidence/git-tree.ts";

const oid = (digit: string): string => digit.repeat(40);
const file = (name: string, digit = "1"): TreeEntry => ({ mode: "100644", name, oid: oid(digit) });
const directory = (name: string, digit = "d"): TreeEntry => ({
  mode: "40000",
  name,
  oid: oid(digit),
});

function rawTree(entries: readonly TreeEntry[]): Buffer {
  return Buffer.concat(
    entries.map((entry) =>
      Buffer.concat([
        Buffer.from(`${entry.mode} ${entry.name}\0`, "latin1"),
        Buffer.from(entry.oid, "hex"),
      ]),
    ),
  );
}

describe("reading objects", () => {
  it("takes answers apart, also those that hold line ends and zeros", () => {
    const body = Buffer.from([0x0a, 0, 0x0a, 0xff]);
    const bytes = Buffer.concat([
      Buffer.from(`${oid("a")} blob 4\n`),
      body,
      Buffer.from(`\nHEAD:no such missing\n${oid("b")} tree 0\n\n`),
    ]);
    expect(parseObjects(bytes)).toEqual([
      { oid: oid("a"), type: "blob", body },
      undefined,
      { oid: oid("b"), type: "tree", body: Buffer.alloc(0) },
    ]);
  });

  it("keeps names that are no UTF-8", () => {
    const entries = [file("caf\u00E9"), directory("\u00FF")];
    expect(parseTree(rawTree(entries), "sha1")).toEqual(entries);
  });

  it("refuses half a tree", () => {
    expect(() => parseTree(Buffer.from("100644 name"), "sha1")).toThrow(/cannot be read/);
  });
});

describe("graft", () => {
  const files = [
    { path: "evidence/dev/model/a.json", oid: oid("2") },
    { path: "evidence/devices/dev.pub", oid: oid("3") },
  ];
  const paths = files.map(({ path }) => path);

  it("needs each directory on the way, the root first", () => {
    expect(directoriesOf(paths)).toEqual([
      "",
      "evidence",
      "evidence/dev",
      "evidence/dev/model",
      "evidence/devices",
    ]);
  });

  it("makes the trees that are missing, deepest first, and keeps the rest", () => {
    const known = new Map([["", [file("README.md"), directory("src")]]]);
    const grafted = graft(known, files, "sha1");
    if (grafted.kind !== "new") throw new Error(grafted.kind);
    const names = grafted.trees.map(({ entries }) => entries.map(({ name }) => name));
    expect(names).toEqual([
      ["a.json"],
      ["model"],
      ["dev.pub"],
      ["dev", "devices"],
      ["README.md", "evidence", "src"],
    ]);
    expect(grafted.root).toBe(grafted.trees.at(-1)?.oid);
  });

  it("sorts as git does: directories as if a slash stood at their end", () => {
    const known = new Map([["", [file("evidence-x"), file("evidence.md"), file("evidence0")]]]);
    const grafted = graft(known, files, "sha1");
    if (grafted.kind !== "new") throw new Error(grafted.kind);
    const root = grafted.trees.at(-1)?.entries.map(({ name }) => name);
    expect(root).toEqual(["evidence-x", "evidence.md", "evidence", "evidence0"]);
  });

  it("names a tree as git does", () => {
    const grafted = graft(
      new Map(),
      [{ path: "a", oid: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" }],
      "sha1",
    );
    expect(grafted).toMatchObject({
      kind: "new",
      root: "496d6428b9cf92981dc9495211e6e1120fb6f2ba",
    });
  });

  it("finds that everything is there", () => {
    const known = new Map([
      ["", [directory("evidence")]],
      ["evidence", [directory("dev"), directory("devices")]],
      ["evidence/dev", [directory("model")]],
      ["evidence/dev/model", [file("a.json", "2")]],
      ["evidence/devices", [file("dev.pub", "3")]],
    ]);
    expect(graft(known, files, "sha1")).toEqual({ kind: "there" });
  });

  it.each([
    ["120000", "a symbolic link"],
    ["160000", "a submodule"],
    ["100644", "a file"],
  ])("is stopped by an entry of mode %s in its way", (mode, what) => {
    const known = new Map([["", [{ mode, name: "evidence", oid: oid("9") }]]]);
    expect(graft(known, files, "sha1")).toEqual({ kind: "blocked", path: "evidence", what });
  });

  it("overwrites no file", () => {
    const known = new Map([
      ["", [directory("evidence")]],
      ["evidence", [directory("devices")]],
      ["evidence/devices", [file("dev.pub", "8")]],
    ]);
    expect(graft(known, files, "sha1")).toMatchObject({
      kind: "blocked",
      path: "evidence/devices/dev.pub",
    });
  });
});

describe("mktreeInput", () => {
  it("ends each record and each tree with a zero", () => {
    const trees = [{ entries: [file("a b"), directory("d")] }, { entries: [] }];
    expect(mktreeInput(trees).toString("latin1")).toBe(
      `100644 blob ${oid("1")}\ta b\u000040000 tree ${oid("d")}\td\0\0\0`,
    );
  });
});
