import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../fixtures/probes/", import.meta.url));

/** Recorded output of a tool or a file of the kernel, by its path below tests/fixtures/probes. */
export function recorded(path: string): string {
  return readFileSync(join(FOLDER, path), "utf8");
}

/** Writes files below `root`, by their absolute paths on the machine that they stand for. */
export function plant(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/** Takes a recording of several files apart, which `head` prints as `==> path <==` and content. */
export function unbundle(text: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const part of text.split(/^==> /m).slice(1)) {
    const [path, ...lines] = part.split("\n");
    files[(path ?? "").replace(/ <==$/, "")] = `${lines.join("\n").trimEnd()}\n`;
  }
  return files;
}

/** Puts a shell script named `name` into `folder`, to be found by PATH in place of the real one. */
export function standIn(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/** A PATH with stand-ins first and the plain tools of the system after them. */
export function pathWith(folder: string): Record<string, string> {
  return { PATH: `${folder}:/usr/bin:/bin` };
}

export { FOLDER as RECORDED_FOLDER };
