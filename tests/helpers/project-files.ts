import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this project. */
export const PROJECT_ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Text of a file of this project. */
export function projectText(path: string): string {
  return readFileSync(join(PROJECT_ROOT, path), "utf8");
}

/** Paths from the root of all files below `folder` that end in `ending`. */
export function projectFiles(folder: string, ending: string): string[] {
  return readdirSync(join(PROJECT_ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(PROJECT_ROOT, join(entry.parentPath, entry.name)))
    .sort();
}
