import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** A package of the program, and where it goes below the copied program ("" for the program itself). */
export interface PlacedPackage {
  from: string;
  to: string;
}

interface Manifest {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}

/** Where Node would find `name` from `directory`, links resolved; undefined where it would not. */
function resolvePackage(name: string, directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    const candidate = join(at, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (dirname(at) === at) return undefined;
  }
}

/** The place in the copy that a package at `to` finds `name` at, going upwards; undefined for none. */
function seenFrom(
  to: string,
  name: string,
  placed: ReadonlyMap<string, string>,
): string | undefined {
  for (let at = to; ;) {
    const place = join(at, "node_modules", name);
    if (placed.has(place)) return place;
    if (at === "" || at === ".") return undefined;
    // node_modules/a/node_modules/b -> node_modules/a; scoped names have one more part.
    at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")));
  }
}

/**
 * The program at `root` with everything that it needs to run, by the `dependencies` of each package
 * and by Node's own rule where they are: beside it, nested, hoisted above it, linked. Packages go flat
 * into `node_modules`; one of two versions goes below the package that wants it.
 */
export function placePackages(root: string): PlacedPackage[] {
  const placed = new Map<string, string>([["", realpathSync(root)]]);
  // Level by level: what a package wants is placed before what its own dependencies want.
  const queue = [""];
  for (let to = queue.shift(); to !== undefined; to = queue.shift()) {
    const from = placed.get(to) ?? root;
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(from);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = resolvePackage(name, from);
      if (found === undefined) {
        if (name in optionalDependencies) continue;
        throw new Error(`${name}, which ${from} needs, is not installed`);
      }
      const seen = seenFrom(to, name, placed);
      if (seen !== undefined && placed.get(seen) === found) continue;
      const place = join(seen === undefined ? "" : to, "node_modules", name);
      placed.set(place, found);
      queue.push(place);
    }
  }
  return [...placed].map(([to, from]) => ({ from, to }));
}
