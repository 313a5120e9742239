import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellTool } from "../../scripts/shells.ts";
import { PROJECT_ROOT } from "./project-files.ts";

/** Path of bash, zsh, fish, shellcheck or mandoc; null where it is not here. */
export function toolHere(name: string): string | null {
  return shellTool(PROJECT_ROOT, name);
}

/** Standard output of a script in a shell that reads no file of its user's. */
export function runShell(
  shell: "bash" | "zsh" | "fish",
  script: string,
  env: Record<string, string | undefined> = {},
): string {
  const without = { bash: ["--norc", "--noprofile"], zsh: ["-f"], fish: ["--no-config"] }[shell];
  const run = spawnSync(toolHere(shell) ?? shell, [...without, "-c", script], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8", ...env },
  });
  if (run.status !== 0 || run.stderr !== "") {
    throw new Error(`${shell} ended with ${run.status}: ${run.stderr}`);
  }
  return run.stdout;
}

/** Puts a program called `name` into `folder`, which then has to be in PATH. */
export function putProgram(folder: string, name: string, script: string): void {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}
