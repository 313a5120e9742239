import { readFileSync } from "node:fs";
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

/** Whether `startAnew` can be had: not under every Node, and on no system without exec. */
export const canStartAnew = typeof process.execve === "function";

/**
 * Becomes this program once more, under the same number, with the same arguments and with `env`.
 * Files that are open are closed, except standard input, output and error. Does not return.
 */
export function startAnew(env: Readonly<Record<string, string | undefined>>): void {
  const set = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
  const args = [...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, [process.execPath, ...args], Object.fromEntries(set));
}

export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) {
    return String(manifest.version);
  }
  return "unknown";
}
