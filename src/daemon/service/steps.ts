import { lstatSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { EXIT, systemErrorCode, TouchstonedError } from "../../core/errors.ts";
import { ensureDir, writeFileAtomic } from "../../core/files.ts";
import { firstLine, type ServiceHost } from "./host.ts";
import { shellWord } from "./quote.ts";
import { textOf } from "./text-of.ts";

/** One thing that an installation does, and can say before it does it. */
export interface Step {
  what: "write" | "remove" | "run" | "copy" | "link";
  /** A path, or a command as a person would type it. */
  target: string;
  /** What is written. */
  content?: string;
  /** False where everything is as it is to be. */
  needed(): boolean | Promise<boolean>;
  run(): void | Promise<void>;
}

export interface StepDone {
  what: Step["what"];
  target: string;
  /** False: it was so already. */
  changed: boolean;
}

/** Whoever watches an installation. */
export interface Watcher {
  dry_run: boolean;
  /** Called before a step that is needed. */
  onStep(step: Step): void;
}

export function step(
  what: Step["what"],
  target: string,
  needed: Step["needed"],
  run: Step["run"],
): Step {
  return { what, target, needed, run };
}

/** Does the steps that are needed, in their order. With `dry_run` they are only told. */
export async function perform(steps: readonly Step[], watcher: Watcher): Promise<StepDone[]> {
  const done: StepDone[] = [];
  for (const one of steps) {
    const { what, target } = one;
    const changed = await one.needed();
    if (changed) {
      watcher.onStep(one);
      if (!watcher.dry_run) await one.run();
    }
    done.push({ what, target, changed });
  }
  return done;
}

/** A home that is read-only, a directory of somebody else's: in words, with what to do. */
function cannotWrite(path: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (
    code === undefined ||
    !["EROFS", "EACCES", "EPERM", "ENOSPC", "ENOTDIR", "EEXIST"].includes(code)
  ) {
    return error;
  }
  const why =
    code === "EROFS"
      ? "its file system is read-only"
      : code === "ENOSPC"
        ? "the disk is full"
        : code;
  return new TouchstonedError({
    code: "cannot_write",
    exitCode: EXIT.failed,
    message: `${path} cannot be written: ${why}`,
    hint: "Make its directory writable for this user, or install with --system as root.",
    cause: error,
  });
}

/** Runs `work`; trouble with the file system is told of `path`. */
export function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

export function writeStep(path: string, content: string, mode = 0o644): Step {
  return {
    what: "write",
    target: path,
    content,
    needed: () => textOf(path) !== content,
    run: () =>
      writing(path, () => {
        ensureDir(dirname(path));
        writeFileAtomic(path, content, mode);
      }),
  };
}

export function removeStep(path: string): Step {
  return {
    what: "remove",
    target: path,
    needed: () => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
    run: () => writing(path, () => rmSync(path, { recursive: true, force: true })),
  };
}

/** Trouble of a service manager, by its own words. Exit code 69. */
export function managerError(command: string, said: string, hint?: string): TouchstonedError {
  return new TouchstonedError({
    code: "service_manager",
    exitCode: EXIT.unavailable,
    message: `${command}: ${said}`,
    ...(hint === undefined ? {} : { hint }),
  });
}

export function commandLine(words: readonly string[]): string {
  return words.map((word) => shellWord(word)).join(" ");
}

/** Runs a command; where it fails, throws what it said. */
export async function mustRun(
  host: ServiceHost,
  [file, ...args]: readonly [string, ...string[]],
  options: { env?: Record<string, string>; timeout_s?: number; hint?: string } = {},
): Promise<string> {
  const { hint, ...rest } = options;
  const told = await host.run(file, args, rest);
  if (!told.ok) throw managerError(commandLine([file, ...args]), firstLine(told), hint);
  return told.stdout;
}
