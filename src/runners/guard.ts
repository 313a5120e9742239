import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { startTree, type TreeExit } from "../core/process.ts";
import { parseJsonLenient } from "../core/json.ts";

/** What the guard says on its standard output, one JSON object a line. */
export type GuardLine = { pid: number } | { exit: TreeExit };

export interface GuardOptions {
  file: string;
  args: readonly string[];
  /** Variables of our environment that the server may see; all where left out. */
  keep_env?: readonly string[] | undefined;
  /** Mark of the guarded tree. */
  token: string;
  /** Ends when the one who started us is gone, however that came about. */
  parent: Readable;
  signal: AbortSignal;
  clock: Clock;
  say: (line: GuardLine) => void;
}

/** A server that is answering does not stop at once, but nobody waits for the answer any more. */
const GRACE_S = 5;

/** Where util-linux puts it; elsewhere the guard works without. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"];

/** With setpriv the kernel kills the server also when the guard itself is killed. */
function withDeathSignal(file: string, args: readonly string[]): [string, readonly string[]] {
  const setpriv =
    process.platform === "linux" ? SETPRIV.find((path) => existsSync(path)) : undefined;
  return setpriv === undefined
    ? [file, args]
    : [setpriv, ["--pdeathsig", "KILL", "--", file, ...args]];
}

function ended(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
    stream.once("error", () => resolve());
    stream.resume();
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Runs a server and ends its whole tree when the server ends, when the parent dies (even by
 * SIGKILL: the pipe from it closes) or when asked to stop. Resolves when nothing of it lives.
 */
export async function runGuard(options: GuardOptions): Promise<void> {
  const [file, args] = withDeathSignal(options.file, options.args);
  const tree = startTree(
    // Descriptor 2 is the log: what the server prints on either stream belongs there.
    {
      file,
      args,
      token: options.token,
      ...(options.keep_env === undefined ? {} : { keep_env: options.keep_env }),
      stdin: "ignore",
      stdout: 2,
      stderr: 2,
    },
    options.clock,
  );
  if (tree.pid !== undefined) options.say({ pid: tree.pid });
  await Promise.race([tree.exited, ended(options.parent), aborted(options.signal)]);
  await tree.end(GRACE_S);
  options.say({ exit: await tree.exited });
}

/** Reads what a guard says; undefined for anything else. */
export function parseGuardLine(line: string): GuardLine | undefined {
  const value = parseJsonLenient(line);
  if (typeof value !== "object" || value === null) return undefined;
  return "pid" in value || "exit" in value ? (value as GuardLine) : undefined;
}
