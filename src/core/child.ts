import type { Readable, Writable } from "node:stream";
import { execa } from "execa";
import { errorMessage } from "./errors.ts";
import type { TreeExit } from "./process.ts";

export interface ChildOptions {
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
}

/** A long-lived helper that we talk to over pipes. */
export interface ChildProcess {
  /** Undefined where the program could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it has ended and its output was read; never rejects. */
  readonly exited: Promise<TreeExit>;
  /** Nothing happens where it has ended already. */
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a helper inside our own process group, so that whoever ends our tree ends it too; it is
 * also ended when this process exits in an orderly way. For the other case, a SIGKILL of ours, the
 * helper itself must end on the end of its input or on a broken pipe.
 */
export function startChild(options: ChildOptions): ChildProcess {
  const child = execa(options.file, options.args, {
    reject: false,
    buffer: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  // Writing to a helper that has just died is no trouble of its own: `exited` tells what happened.
  child.stdin.on("error", () => {});
  const exited = child.then((result): TreeExit => {
    const started = child.pid !== undefined;
    return {
      exit_code: result.exitCode ?? null,
      signal: result.signal ?? null,
      spawn_error: started ? null : errorMessage(result.cause ?? result),
    };
  });
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    kill(signal) {
      child.kill(signal);
    },
  };
}

/** `exit 1`, `signal SIGKILL` or why it did not start: for reasons in records. */
export function exitText(exit: TreeExit): string {
  if (exit.spawn_error !== null) return exit.spawn_error;
  return exit.signal === null ? `exit ${exit.exit_code ?? "unknown"}` : `signal ${exit.signal}`;
}
