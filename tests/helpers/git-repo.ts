import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isolatedEnv } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

/** A person's repository, with their own name in their own configuration. */
export class GitRepo {
  readonly home: string;
  readonly root: string;
  readonly env: Record<string, string>;

  constructor(init: readonly string[] = []) {
    this.home = tempDir();
    this.root = join(this.home, "work");
    mkdirSync(this.root);
    this.env = { ...isolatedEnv(this.home), PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
    writeFileSync(
      join(this.home, ".gitconfig"),
      "[user]\n\tname = Anna\n\temail = anna@example.org\n[advice]\n\tdetachedHead = false\n",
    );
    this.git("init", "-q", "-b", "main", ...init);
  }

  /** What git says; throws where it ends otherwise than with 0. */
  git(...args: string[]): string {
    const run = this.tryGit(...args);
    if (run.status !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr}${run.stdout}`);
    return run.stdout;
  }

  tryGit(...args: string[]): { status: number | null; stdout: string; stderr: string } {
    const { PATH, HOME, XDG_CONFIG_HOME } = this.env;
    const env = {
      PATH,
      HOME,
      XDG_CONFIG_HOME,
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      // A look changes nothing, the index least of all.
      GIT_OPTIONAL_LOCKS: "0",
    };
    const run = spawnSync("git", args, { cwd: this.root, encoding: "utf8", env });
    return { status: run.status, stdout: run.stdout, stderr: run.stderr };
  }

  put(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  text(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  commit(message: string): void {
    this.git("add", "-A");
    this.git("commit", "-q", "-m", message);
  }

  /** A first commit with a file of the person's. */
  start(): this {
    this.put("notes.txt", "mine\n");
    this.put("code/main.c", "int main;\n");
    this.commit("first");
    return this;
  }

  hook(name: string, script: string, directory = ".git/hooks"): void {
    this.put(`${directory}/${name}`, `#!/bin/sh\n${script}\n`);
    chmodSync(join(this.root, directory, name), 0o755);
  }

  /** The state of the person's things as `git status` tells it. */
  status(): string {
    return this.git("status", "--porcelain=v2", "--branch", "--untracked-files=all")
      .split("\n")
      .filter((line) => !line.startsWith("# branch.oid"))
      .join("\n");
  }

  /** Whole tree of a revision: mode, name of the object, path. */
  tree(revision: string): string {
    return this.git("ls-tree", "-r", revision);
  }
}
