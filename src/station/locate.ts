import { basename, dirname, join, resolve } from "node:path";
import { configError } from "../core/errors.ts";
import { shortSha256 } from "../core/sha256.ts";
import { slug } from "../core/text.ts";
import { shellWord } from "../core/shell-word.ts";
import { realpathIfThere } from "./guarded.ts";
import { pathVariable, POLICY_NAME, userPaths, userStation, type Env } from "./paths.ts";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { lstatSync } = process.getBuiltinModule("node:fs");

const STATION_VARIABLE = "TOUCHSTONED_STATION";

export interface FindOptions {
  /** What `--station` says. */
  explicit?: string | undefined;
  env: Env;
  cwd: string;
}

export interface FoundStation {
  /** Absolute; links are not resolved yet. */
  path: string;
  by: "option" | "environment" | "parent" | "user";
}

function hasPolicy(directory: string): boolean {
  // Also what is no file: a FIFO in its place is to be refused, not passed over.
  return lstatSync(join(directory, POLICY_NAME), { throwIfNoEntry: false }) !== undefined;
}

/** Like `findStation`, and says by which rule. */
export function locateStation({ explicit, env, cwd }: FindOptions): FoundStation | undefined {
  if (explicit !== undefined) return { path: resolve(cwd, explicit), by: "option" };
  const named = pathVariable(env, STATION_VARIABLE);
  if (named !== undefined) return { path: named, by: "environment" };
  for (let at = resolve(cwd); ; at = dirname(at)) {
    if (hasPolicy(at)) return { path: at, by: "parent" };
    if (dirname(at) === at) break;
  }
  const own = userStation(env);
  return hasPolicy(own) ? { path: own, by: "user" } : undefined;
}

/**
 * The station to use: `--station`, `TOUCHSTONED_STATION`, the nearest parent with a
 * touchstoned.yaml, else the user's own where there is one. Absolute; undefined where there is none.
 */
export function findStation(options: FindOptions): string | undefined {
  return locateStation(options)?.path;
}

/** The real directory of a station. Throws a configuration error where it is none. */
export function stationRoot(options: FindOptions): string {
  const found = findStation(options);
  if (found === undefined) {
    throw configError(
      `no station: neither ${options.cwd} nor a directory above it has a ${POLICY_NAME}`,
      "Make one with `touchstoned init`, or name one with --station DIR.",
      "no_station",
    );
  }
  const root = realpathIfThere(found);
  if (root === undefined || !hasPolicy(root)) {
    throw configError(
      `${found} is no station: it has no ${POLICY_NAME}`,
      `Make it one with \`touchstoned init ${shellWord(found)}\`.`,
      "no_station",
    );
  }
  return root;
}

/** Two clones, and one clone that was moved, never share a state. */
export function stationId(root: string): string {
  return `${slug(basename(root))}-${shortSha256(root).slice(0, 12)}`;
}

/** Where the state of the station is that `options` find; nothing is made. */
export function locateState(options: FindOptions): { root: string; state_dir: string } {
  const root = stationRoot(options);
  return { root, state_dir: join(userPaths(options.env).state_dir, stationId(root)) };
}
