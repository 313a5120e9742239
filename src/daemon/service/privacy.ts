import { join } from "node:path";
import { isInside } from "../../station/resident.ts";
import type { Problem } from "./types.ts";

/** Folders of which macOS lets no program know anything that the person has not allowed. */
const PROTECTED = [
  "Desktop",
  "Documents",
  "Downloads",
  "Library/Mobile Documents",
  "Library/CloudStorage",
];

/** The protected place that holds `path`; undefined where none does. */
function protector(path: string, home: string): string | undefined {
  if (isInside("/Volumes", path)) return "a removable or network volume (/Volumes)";
  return PROTECTED.map((name) => join(home, name)).find((folder) => isInside(folder, path));
}

/**
 * What a service of macOS cannot read or write without the person's leave, for which nobody asks at
 * night: EPERM, which looks like a fault of the disk.
 */
export function privacyProblems(
  platform: NodeJS.Platform,
  home: string,
  paths: Readonly<Record<string, string>>,
  node: string | null,
): Problem[] {
  if (platform !== "darwin") return [];
  const problems: Problem[] = [];
  for (const [name, path] of Object.entries(paths)) {
    const folder = protector(path, home);
    if (folder === undefined) continue;
    problems.push({
      what: `${name} ${path} is in ${folder}, which macOS keeps services out of`,
      do:
        `Move it, for example to ${join(home, "bench")}. Or allow Full Disk Access (System Settings, Privacy & ` +
        `Security) to ${node ?? "the Node that runs it"}, which allows it to every script that this Node runs.`,
    });
  }
  return problems;
}
