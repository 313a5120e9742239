// The Debian tree that every machine is made of, made once, and what making it takes.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../helpers/project-files.ts";

const CACHE = join(PROJECT_ROOT, ".cache", "debian-tree");

/** The files of the Debian system. */
export const TREE = join(CACHE, "root");

const LIBRARIES = join(TREE, "lib", "x86_64-linux-gnu");

/** systemd-nspawn out of the tree, by the tree's own loader: nothing has to be installed for it. */
export const NSPAWN: readonly string[] = [
  join(LIBRARIES, "ld-linux-x86-64.so.2"),
  "--library-path",
  `${LIBRARIES}:${join(LIBRARIES, "systemd")}`,
  join(TREE, "usr", "bin", "systemd-nspawn"),
];

/** Makes the tree where it is not there; what it said where that failed. */
export function makeTree(): { status: number; said: string } {
  const script = join(PROJECT_ROOT, "scripts", "get-debian-tree.sh");
  const ran = spawnSync("bash", [script, CACHE], { encoding: "utf8", timeout: 600_000 });
  return { status: ran.status ?? 1, said: `${ran.stdout}${ran.stderr}`.trim() };
}
