import { createHash } from "node:crypto";

/** Trees as git stores them. Names are bytes, held one a character (latin1). */
export interface TreeEntry {
  /** Octal, without leading zeros: `40000`, `100644`, `120000`, `160000`. */
  mode: string;
  name: string;
  oid: string;
}

export type ObjectFormat = "sha1" | "sha256";

const DIRECTORY = "40000";
const FILE = "100644";

export interface GitObject {
  oid: string;
  type: string;
  body: Buffer;
}

/** Answers of `cat-file --batch`, in order; undefined where there is no such object. */
export function parseObjects(bytes: Buffer): (GitObject | undefined)[] {
  const found: (GitObject | undefined)[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at);
    const line = bytes.toString("latin1", at, end < 0 ? bytes.length : end);
    const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line);
    at = (end < 0 ? bytes.length : end) + 1;
    if (match === null) {
      found.push(undefined); // `NAME missing`
      continue;
    }
    const [, oid = "", type = "", size = "0"] = match;
    found.push({ oid, type, body: bytes.subarray(at, at + Number(size)) });
    at += Number(size) + 1;
  }
  return found;
}

export function parseTree(body: Buffer, format: ObjectFormat): TreeEntry[] {
  const length = format === "sha1" ? 20 : 32;
  const entries: TreeEntry[] = [];
  for (let at = 0; at < body.length;) {
    const blank = body.indexOf(0x20, at);
    const nul = body.indexOf(0, blank);
    if (blank < 0 || nul < 0) throw new RangeError("a tree of git cannot be read");
    entries.push({
      mode: body.toString("latin1", at, blank),
      name: body.toString("latin1", blank + 1, nul),
      oid: body.toString("hex", nul + 1, nul + 1 + length),
    });
    at = nul + 1 + length;
  }
  return entries;
}

/** git sorts names as bytes, those of directories as if they ended with a slash. */
function sortName({ mode, name }: TreeEntry): string {
  return mode === DIRECTORY ? `${name}/` : name;
}

function treeOid(entries: readonly TreeEntry[], format: ObjectFormat): string {
  const body = Buffer.concat(
    entries.map(({ mode, name, oid }) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`, "latin1"), Buffer.from(oid, "hex")]),
    ),
  );
  return createHash(format).update(`tree ${body.length}\0`).update(body).digest("hex");
}

/** A file to add: its path from the root of the tree, and the object with its bytes. */
export interface NewFile {
  path: string;
  oid: string;
}

/** Directories that hold one of `paths`, the root ("") first. */
export function directoriesOf(paths: readonly string[]): string[] {
  const found = new Set<string>([""]);
  for (const path of paths) {
    const parts = path.split("/").slice(0, -1);
    for (const [index] of parts.entries()) found.add(parts.slice(0, index + 1).join("/"));
  }
  return [...found];
}

function bytesOf(name: string): string {
  return Buffer.from(name, "utf8").toString("latin1");
}

/** Directory and name; the name as trees hold it. */
export function splitPath(path: string): [directory: string, name: string] {
  const slash = path.lastIndexOf("/");
  return [slash < 0 ? "" : path.slice(0, slash), bytesOf(path.slice(slash + 1))];
}

export type Graft =
  /** Everything is there already, byte for byte. */
  | { kind: "there" }
  /** Something else has one of the names. */
  | { kind: "blocked"; path: string; what: string }
  | {
      kind: "new";
      root: string;
      /** The trees to be made, those that others hold first. */
      trees: { oid: string; entries: TreeEntry[] }[];
    };

function whatIs(mode: string): string {
  if (mode === "120000") return "a symbolic link";
  if (mode === "160000") return "a submodule";
  return mode === DIRECTORY ? "a directory" : "a file";
}

/** The trees that come out when `files` are added to those in `known` (path of directory, entries). */
export function graft(
  known: ReadonlyMap<string, readonly TreeEntry[]>,
  files: readonly NewFile[],
  format: ObjectFormat,
): Graft {
  const directories = directoriesOf(files.map(({ path }) => path));
  const edited = new Map(directories.map((path) => [path, [...(known.get(path) ?? [])]]));
  for (const directory of directories) {
    if (directory === "") continue;
    const [parent, name] = splitPath(directory);
    const entry = edited.get(parent)?.find((other) => other.name === name);
    if (entry !== undefined && entry.mode !== DIRECTORY) {
      return { kind: "blocked", path: directory, what: whatIs(entry.mode) };
    }
  }
  let added = 0;
  for (const { path, oid } of files) {
    const [directory, name] = splitPath(path);
    const entries = edited.get(directory) ?? [];
    const there = entries.find((entry) => entry.name === name);
    if (there?.oid === oid) continue;
    if (there !== undefined) return { kind: "blocked", path, what: whatIs(there.mode) };
    entries.push({ mode: FILE, name, oid });
    added += 1;
  }
  if (added === 0) return { kind: "there" };
  return { kind: "new", ...rebuilt(edited, directories, format) };
}

function rebuilt(
  edited: Map<string, TreeEntry[]>,
  directories: readonly string[],
  format: ObjectFormat,
): { root: string; trees: { oid: string; entries: TreeEntry[] }[] } {
  const trees: { oid: string; entries: TreeEntry[] }[] = [];
  let root = "";
  // Deepest first, so that a tree's name is known when the one that holds it is made.
  const ordered = directories.toSorted((a, b) => depth(b) - depth(a));
  for (const directory of ordered) {
    const entries = (edited.get(directory) ?? []).toSorted((a, b) => {
      const [left, right] = [sortName(a), sortName(b)];
      return left < right ? -1 : left > right ? 1 : 0;
    });
    const oid = treeOid(entries, format);
    trees.push({ oid, entries });
    root = oid;
    if (directory === "") continue;
    const [parent, name] = splitPath(directory);
    const siblings = edited.get(parent) ?? [];
    const kept = siblings.filter((entry) => entry.name !== name);
    edited.set(parent, [...kept, { mode: DIRECTORY, name, oid }]);
  }
  return { root, trees };
}

function depth(directory: string): number {
  return directory === "" ? 0 : directory.split("/").length;
}

/** What `mktree -z --batch` reads. */
export function mktreeInput(trees: readonly { entries: readonly TreeEntry[] }[]): Buffer {
  const records = trees.map(({ entries }) =>
    entries
      .map(({ mode, name, oid }) => {
        const type = mode === DIRECTORY ? "tree" : mode === "160000" ? "commit" : "blob";
        return `${mode} ${type} ${oid}\t${name}\0`;
      })
      .join(""),
  );
  return Buffer.from(records.map((record) => `${record}\0`).join(""), "latin1");
}
