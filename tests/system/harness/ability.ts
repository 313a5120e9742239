// Whether this computer can boot a Debian tree at all.
import { accessSync, constants } from "node:fs";
import { unifiedTree } from "./cgroup.ts";
import { makeTree } from "./tree.ts";

/** What get-debian-tree.sh ends with where this is no machine for it, or the mirror does not answer. */
const NOT_HERE = new Set([69, 75]);

export interface Ability {
  able: boolean;
  /** True where that cannot be mended here: not root, no Debian, no network. Otherwise it is a fault. */
  excused: boolean;
  /** What is wrong, or what the set-up said. */
  said: string;
}

/** What is missing before anything is fetched; undefined where nothing is. */
export function missing(
  host: { platform: string; arch: string; uid: number; cgroups: string | undefined } = {
    platform: process.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? -1,
    cgroups: unifiedTree(),
  },
): string | undefined {
  if (host.platform !== "linux" || host.arch !== "x64") {
    return `it takes Linux on x64, and this is ${host.platform} on ${host.arch}`;
  }
  if (host.uid !== 0) return "it takes root: mounts, namespaces and control groups";
  if (host.cgroups === undefined) return "it takes control groups, version 2";
  try {
    accessSync(host.cgroups, constants.W_OK);
  } catch {
    return `${host.cgroups} cannot be written: this is a container that may not make control groups`;
  }
  return undefined;
}

/** Makes the tree where it is not there yet. */
export function prepare(): Ability {
  const lacking = missing();
  if (lacking !== undefined) return { able: false, excused: true, said: lacking };
  const { status, said } = makeTree();
  return { able: status === 0, excused: NOT_HERE.has(status), said };
}
