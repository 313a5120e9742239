import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The program and arguments that start this program again, for the children that are hidden
 * commands of it. The sources run as they are in development, compiled JavaScript when installed:
 * this file's own ending says which.
 */
export function selfCommand(): [program: string, ...args: string[]] {
  const main = new URL(`../cli/main${extname(import.meta.url)}`, import.meta.url);
  return [process.execPath, fileURLToPath(main)];
}

/** A file that ships with the package, by its path from the package's root. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

export function packageVersion(): string {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const manifest: unknown = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) {
    return String(manifest.version);
  }
  return "unknown";
}
