import { realpathSync } from "node:fs";
import { onPath } from "../../../core/on-path.ts";
import { packageVersion } from "../../../core/program.ts";
import { variable, type Env } from "../../../station/resident.ts";
import { failure, ok, type Line } from "../line.ts";

export interface NodeInput {
  /** This program and the Node that it runs on. */
  program: string;
  node: string;
  exec_path: string;
  platform: NodeJS.Platform;
  /** Whether a program of this name can be started. */
  has: (name: string) => boolean;
}

/** Programs without which something is not done at all. */
const NEEDED: readonly { name: string; only?: NodeJS.Platform; text: string; todo: string }[] = [
  {
    name: "git",
    text: "there is no git: evidence is not committed, and nobody can tell what a repository brings",
    todo: "Install git.",
  },
  {
    name: "flock",
    only: "linux",
    text: "there is no flock: no lock can be taken, so nothing can run",
    todo: "Install util-linux; it brings flock.",
  },
];

/** Whose folder a Node lies in that goes away with its version; null for one that stays. */
function keptBy(path: string): string | null {
  const known: readonly [RegExp, string][] = [
    [/\/\.nvm\//, "nvm"],
    [/\/(?:\.fnm|fnm|fnm_multishells)\//, "fnm"],
    [/\/\.volta\//, "Volta"],
    [/\/\.asdf\//, "asdf"],
    [/\/mise\/installs\//, "mise"],
    [/\/Cellar\//, "Homebrew"],
    [/\/n\/versions\//, "n"],
  ];
  return known.find(([place]) => place.test(path))?.[1] ?? null;
}

export function nodeLines({ program, node, exec_path, platform, has }: NodeInput): Line[] {
  const keeper = keptBy(exec_path);
  const kept =
    keeper === null
      ? ""
      : `, a version of ${keeper}'s: an installed service finds the next one by itself`;
  const lines = [ok(`touchstoned ${program} on Node ${node} (${exec_path}${kept})`)];
  for (const { name, only, text, todo } of NEEDED) {
    if (only !== undefined && only !== platform) continue;
    if (!has(name)) lines.push(failure(text, todo));
  }
  return lines;
}

/** What is so on this machine. */
export function realNode(env: Env, platform: NodeJS.Platform): NodeInput {
  const path = variable(env, "PATH") ?? "/usr/local/bin:/usr/bin:/bin";
  return {
    program: packageVersion(),
    node: process.versions.node,
    exec_path: realpathSync(process.execPath),
    platform,
    has: (name) => onPath(name, path),
  };
}
