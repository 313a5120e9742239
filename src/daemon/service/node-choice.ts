import { existsSync, readFileSync, realpathSync } from "node:fs";
import { packageFile } from "../../core/program.ts";
import { systemPath, type ServiceHost } from "./host.ts";

/** Links that survive an upgrade, which the path behind them (Homebrew's Cellar) does not. */
const STABLE = [
  "/opt/homebrew/bin/node",
  "/usr/local/bin/node",
  "/home/linuxbrew/.linuxbrew/bin/node",
  "/usr/bin/node",
];

export interface ChosenNode {
  /** Tried first by the launcher; null where it is to look for one. */
  path: string | null;
  /** What is worth a word about it; null for nothing. */
  note: string | null;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Which Node the launcher is to try first: the one that runs now, by a name that an upgrade keeps where
 * there is one. Not a Node that belongs to another program or project: it goes when that goes.
 */
export function chooseNode(host: Pick<ServiceHost, "root" | "exec_path">): ChosenNode {
  const { exec_path } = host;
  const real = realPath(exec_path) ?? exec_path;
  const stable = STABLE.map((path) => systemPath(host, path)).find(
    (path) => existsSync(path) && realPath(path) === real,
  );
  if (stable !== undefined) return { path: stable, note: null };
  const owner =
    /^(.*?)\/node_modules\//.exec(real)?.[1] ?? /^(.*?\.app)\/Contents\//.exec(real)?.[1];
  if (owner === undefined) return { path: exec_path, note: null };
  return {
    path: null,
    note: `${exec_path} is a part of ${owner}, so the launcher looks for a Node of this machine`,
  };
}

/** Oldest Node that will do: `engines` of the package. */
export function oldestNode(): { major: number; minor: number } {
  const manifest = JSON.parse(readFileSync(packageFile("package.json"), "utf8")) as {
    engines?: { node?: string };
  };
  const [, major = "22", minor = "22"] = /(\d+)\.(\d+)/.exec(manifest.engines?.node ?? "") ?? [];
  return { major: Number(major), minor: Number(minor) };
}
