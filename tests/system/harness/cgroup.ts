// A control group of its own for each machine: two of them would otherwise use the same one.
import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "../../helpers/wait.ts";

/** Where the one unified tree is, also where the older kind lies beside it. */
export function unifiedTree(): string | undefined {
  return ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((path) =>
    existsSync(join(path, "cgroup.subtree_control")),
  );
}

/** Makes the group of a machine, where it is not there; its path. */
export function makeCgroup(name: string): string {
  const tree = unifiedTree();
  if (tree === undefined) throw new Error("no unified control groups");
  const path = join(tree, `touchstoned-system-${name}-${process.pid}`);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Shell: moves the shell itself into the group. */
export function enterCgroup(path: string): string {
  return `echo $$ > '${path}/cgroup.procs'`;
}

/** Removes the group and those below it, once the last process has left them. */
export async function removeCgroup(path: string): Promise<void> {
  await waitFor(`an empty ${path}`, () => {
    try {
      removeTree(path);
      return true;
    } catch {
      return undefined;
    }
  });
}

function removeTree(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(path, entry.name));
  }
  rmdirSync(path);
}
