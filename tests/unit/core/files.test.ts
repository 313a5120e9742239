import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  JsonLinesWriter,
  createFileAtomic,
  ensureDir,
  readJsonLines,
  readTextIfThere,
  writeFileAtomic,
  writeFileUnsynced,
} from "../../../src/core/files.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("ensureDir", () => {
  it("makes what is missing, and minds neither what is there nor a link to it", () => {
    const dir = tempDir();
    ensureDir(join(dir, "a", "b"), 0o700);
    ensureDir(join(dir, "a", "b"));
    expect(statSync(join(dir, "a")).mode & 0o777).toBe(0o700);
    symlinkSync(join(dir, "a"), join(dir, "link"));
    ensureDir(join(dir, "link", "c"));
    expect(statSync(join(dir, "a", "c")).isDirectory()).toBe(true);
  });

  it("throws where a file is in the way, or where nothing can be made", () => {
    const dir = tempDir();
    writeFileSync(join(dir, "file"), "");
    expect(() => ensureDir(join(dir, "file"))).toThrow(/EEXIST/);
    expect(() => ensureDir(join(dir, "file", "x"))).toThrow(/EEXIST|ENOTDIR/);
    // Below /proc, where there is one, Node's own recursive mkdir would never return.
    expect(() => ensureDir("/proc/no-such-place/x")).toThrow(/ENOENT|EROFS|EACCES|EPERM/);
  });
});

describe("writeFileAtomic", () => {
  it("replaces a file as a whole and leaves nothing beside it", () => {
    const dir = tempDir();
    const path = join(dir, "summary.json");
    writeFileAtomic(path, "old");
    writeFileAtomic(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readdirSync(dir)).toEqual(["summary.json"]);
  });

  it("keeps the old file and leaves no temporary one where the rename fails", () => {
    const dir = tempDir();
    const path = join(dir, "folder");
    writeFileSync(join(dir, "keep"), "");
    // A directory that is not empty cannot be replaced by a file.
    createFileAtomic(join(dir, "marker"), "x");
    expect(() => writeFileAtomic(join(dir, "absent", "x"), "y")).toThrow(/ENOENT/);
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(dir).toSorted()).toEqual(["keep", "marker"]);
  });
});

describe("createFileAtomic", () => {
  it("never writes over what is there", () => {
    const dir = tempDir();
    const path = join(dir, "manifest.json");
    createFileAtomic(path, "first");
    expect(() => createFileAtomic(path, "second")).toThrow(/EEXIST/);
    expect(readFileSync(path, "utf8")).toBe("first");
    expect(readdirSync(dir)).toEqual(["manifest.json"]);
  });
});

describe("JsonLinesWriter", () => {
  it("appends to what is there and hands over whole lines", () => {
    const path = join(tempDir(), "rows.jsonl");
    const first = new JsonLinesWriter(path);
    first.append({ n: 1 });
    first.close();
    const second = new JsonLinesWriter(path);
    second.append({ n: 2 });
    second.sync();
    second.close();
    second.close();
    expect(readFileSync(path, "utf8")).toBe('{"n":1}\n{"n":2}\n');
  });

  it.each([
    ["half a line", '{"n":1}\n{"n":', '{"n":1}\n'],
    ["only half a line", '{"n":', ""],
    ["half a line longer than one look", `{"n":1}\n${"x".repeat(200_000)}`, '{"n":1}\n'],
    ["nothing wrong", '{"n":1}\n', '{"n":1}\n'],
  ])("cuts %s that a killed writer left", (_, before, kept) => {
    const path = join(tempDir(), "rows.jsonl");
    writeFileSync(path, before);
    const writer = new JsonLinesWriter(path);
    writer.append({ n: 9 });
    writer.close();
    expect(readFileSync(path, "utf8")).toBe(`${kept}{"n":9}\n`);
  });

  it("writes unknown numbers as null", () => {
    const path = join(tempDir(), "rows.jsonl");
    const writer = new JsonLinesWriter(path);
    writer.append({ ttft_s: Number.NaN, e2e_s: Number.POSITIVE_INFINITY });
    writer.close();
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ ttft_s: null, e2e_s: null });
  });
});

describe("readJsonLines", () => {
  it("leaves out blank and broken lines and reads an older program's NaN", () => {
    const path = join(tempDir(), "rows.jsonl");
    writeFileSync(path, '{"a":NaN,"t":"NaN, -Infinity"}\n\n{"a":-Infinity}\n{"a":');
    appendFileSync(path, "");
    expect(readJsonLines(path)).toEqual([{ a: null, t: "NaN, -Infinity" }, { a: null }]);
  });

  it("gives nothing for a file that is not there", () => {
    expect(readJsonLines(join(tempDir(), "absent.jsonl"))).toEqual([]);
  });
});

describe("readTextIfThere", () => {
  it("tells an absent file from one that cannot be read", () => {
    const dir = tempDir();
    expect(readTextIfThere(join(dir, "absent"))).toBeUndefined();
    expect(() => readTextIfThere(dir)).toThrow(/EISDIR/);
  });
});

describe("writeFileUnsynced", () => {
  it("replaces a whole file with its mode, and leaves nothing behind where it cannot", () => {
    const dir = tempDir();
    const path = join(dir, "a.json");
    writeFileUnsynced(path, "one", 0o600);
    writeFileUnsynced(path, "two", 0o600);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["two", 0o600]);
    expect(() => writeFileUnsynced(dir, "no")).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(readdirSync(dir)).toEqual(["a.json"]);
  });
});
