// Where the programs are that shell completion, examples and man page are tested with.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What `scripts/get-shells.sh` fills. */
export function shellsFolder(root: string): string {
  return join(root, ".cache", "shells");
}

/** A program of those, from PATH or fetched; null where there is none. */
export function shellTool(root: string, name: string): string | null {
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    join(shellsFolder(root), "bin"),
  ];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}
