import { join } from "node:path";

/** A path of the system, seen from where the host's root is. */
export function systemPath({ root }: { root: string }, path: string): string {
  return root === "/" ? path : join(root, path);
}
