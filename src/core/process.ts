import { spawn, type StdioOptions } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "./clock.ts";
import { errorMessage, systemErrorCode } from "./errors.ts";
import {
  isAlive,
  NO_PROCESS,
  processIdentity,
  TREE_VARIABLE,
  treeMembers,
  type ProcessIdentity,
} from "./process-table.ts";

export interface CommandResult {
  ok: boolean;
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  stdout: string;
  stderr: string;
  /** One line on what went wrong; null when `ok`. */
  error: string | null;
}

export interface CommandOptions {
  timeout_s: number;
  cwd?: string;
  env?: Record<string, string>;
  /** False: the child gets `env` and nothing of our own environment. */
  inherit_env?: boolean;
  input?: string;
  /** Descriptors that the child gets from number 3 on. */
  descriptors?: readonly number[];
  signal?: AbortSignal;
}

/**
 * execa hands plain descriptor numbers on to the child at every position, as Node does, but its
 * types know them only for the first three.
 */
function stdioOf(
  three: readonly ("ignore" | "pipe" | number)[],
  descriptors: readonly number[] | undefined,
): ["ignore" | "pipe", "ignore" | "pipe", "ignore" | "pipe"] {
  return [...three, ...(descriptors ?? [])] as never;
}

/** Output of a helper command beyond this is cut: a reset command may print for ever. */
const MAX_OUTPUT_CHARACTERS = 1_000_000;

function textOf(output: unknown): string {
  return typeof output === "string" ? output : "";
}

/** Runs a short command without a shell and waits for it. Never throws: trouble is in the result. */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  // Half of what a small command costs would be this library, and the daemon rarely needs it.
  const { execa } = await import("execa");
  const result = await execa(file, args, {
    timeout: options.timeout_s * 1000,
    forceKillAfterDelay: 2000,
    maxBuffer: MAX_OUTPUT_CHARACTERS,
    reject: false,
    stripFinalNewline: false,
    stdio: stdioOf(
      [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      options.descriptors,
    ),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
    extendEnv: options.inherit_env ?? true,
    ...(options.input === undefined ? {} : { input: options.input }),
    ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
  });
  return {
    ok: !result.failed,
    exit_code: result.exitCode ?? null,
    signal: result.signal ?? null,
    timed_out: result.timedOut,
    stdout: textOf(result.stdout),
    stderr: textOf(result.stderr),
    error: result.failed ? (errorMessage(result.cause ?? result).split("\n", 1)[0] ?? "") : null,
  };
}

export interface TreeOptions {
  file: string;
  args: readonly string[];
  /** Unique text that marks every process of the tree (a ULID does). */
  token: string;
  cwd?: string;
  env?: Record<string, string>;
  /** Variables of our environment that it may see beside `env`; all where left out. */
  keep_env?: readonly string[];
  /** What becomes of the child's standard input, output and error: a descriptor, or a pipe to us. */
  stdin: "ignore" | "pipe" | number;
  stdout: "ignore" | "pipe" | number;
  stderr: "ignore" | "pipe" | number;
  /** Descriptors that the child gets from number 3 on (the model lock travels this way). */
  descriptors?: readonly number[];
}

export interface TreeExit {
  exit_code: number | null;
  signal: string | null;
  /** Why it could not be started at all (no such program ...), else null. */
  spawn_error: string | null;
}

/**
 * Runs a person's own command in our place: our terminal, our process group (Ctrl-C reaches it by
 * itself), our environment and more. `signal` is passed on, by its reason's name, except an
 * interrupt from a terminal, which the command has got already. Never rejects.
 */
export async function runAttached(
  file: string,
  args: readonly string[],
  options: {
    env: Record<string, string>;
    descriptors: readonly number[];
    signal: AbortSignal;
    terminal: boolean;
  },
): Promise<TreeExit & { spawn_error_code: string | null }> {
  const { execa } = await import("execa");
  const child = execa(file, args, {
    cleanup: false,
    reject: false,
    buffer: false,
    stdio: ["inherit", "inherit", "inherit", ...options.descriptors] as never,
    env: options.env,
  });
  const pass = (): void => {
    const name: unknown = options.signal.reason;
    if (name === "SIGINT" && options.terminal) return;
    child.kill(name === "SIGINT" || name === "SIGHUP" ? name : "SIGTERM");
  };
  if (options.signal.aborted) pass();
  options.signal.addEventListener("abort", pass, { once: true });
  const result = await child;
  options.signal.removeEventListener("abort", pass);
  const started = child.pid !== undefined;
  return {
    exit_code: result.exitCode ?? null,
    signal: result.signal ?? null,
    spawn_error: started ? null : errorMessage(result.cause ?? result),
    spawn_error_code: started ? null : (systemErrorCode(result.cause) ?? null),
  };
}

/** A child process with everything it starts. */
export interface ProcessTree {
  /** Undefined where the program could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Resolves when the child itself has ended; never rejects. */
  readonly exited: Promise<TreeExit>;
  /** Living processes of the tree, the child among them. */
  members(): number[];
  /** SIGTERM to all, then SIGKILL after `grace_s`; resolves with the pids that lived on even so. */
  end(grace_s: number): Promise<number[]>;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between the look and the signal.
    }
  }
}

/** How often a dying tree is looked at. Reading the process table costs about a millisecond. */
const LOOK_INTERVAL_MS = 50;
/** How long a process may take to leave the table after SIGKILL; one in the D state never does. */
const KILL_WAIT_MS = 5000;

async function endTree(look: () => number[], grace_s: number, clock: Clock): Promise<number[]> {
  const gone = async (limit_ms: number, signal: NodeJS.Signals): Promise<boolean> => {
    const deadline_ms = clock.monotonic_ms() + limit_ms;
    const signalled = new Set<number>();
    for (;;) {
      const members = look();
      if (members.length === 0) return true;
      // A child born while we killed its parent is met in a later look.
      signalAll(
        members.filter((pid) => !signalled.has(pid)),
        signal,
      );
      for (const pid of members) signalled.add(pid);
      if (clock.monotonic_ms() >= deadline_ms) return false;
      await clock.sleep(LOOK_INTERVAL_MS);
    }
  };
  if (await gone(grace_s * 1000, "SIGTERM")) return [];
  if (await gone(KILL_WAIT_MS, "SIGKILL")) return [];
  return look();
}

/** What is written down of a tree, so that a later process can find it again. */
export interface TreeMark {
  /** null: it was about to be started when this was written. */
  root: ProcessIdentity | null;
  /** The mark that all its processes carry in their environment. */
  token: string;
}

/** A dead parent tells nobody, so the process table is asked about its children. */
const ADOPTED_LOOK_MS = 250;

/**
 * A tree that an earlier process of ours had started: its members are proven by its mark, or by
 * number, start and boot. How it ended cannot be known: `exited` gives null for everything.
 */
export function adoptTree(
  mark: TreeMark,
  clock: Clock,
): Pick<ProcessTree, "pid" | "exited" | "members" | "end"> {
  const { root, token } = mark;
  const lives = (): boolean => root !== null && isAlive(root);
  const members = (): number[] =>
    treeMembers(root ?? { pid: NO_PROCESS, start_token: undefined }, token);
  const exited = async (): Promise<TreeExit> => {
    while (lives()) await clock.sleep(ADOPTED_LOOK_MS);
    return { exit_code: null, signal: null, spawn_error: null };
  };
  return {
    pid: root?.pid,
    exited: exited(),
    members,
    end: (grace_s) => endTree(members, grace_s, clock),
  };
}

function ownEnvironment(keep: readonly string[] | undefined): NodeJS.ProcessEnv {
  if (keep === undefined) return process.env;
  return Object.fromEntries(keep.map((name) => [name, process.env[name]]));
}

/**
 * Starts a child in a process group of its own, marked so that its whole tree can be found and
 * ended. The mark is added to the marks that we carry ourselves: a tree inside a tree is a member
 * of both.
 */
export function startTree(options: TreeOptions, clock: Clock): ProcessTree {
  const outer = process.env[TREE_VARIABLE];
  const mark = outer === undefined ? options.token : `${outer} ${options.token}`;
  // Node's own spawn and not execa: execa's promise waits until every holder of our pipes is gone,
  // and a grandchild that lives on may hold them for ever.
  const stdio: StdioOptions = [
    options.stdin,
    options.stdout,
    options.stderr,
    ...(options.descriptors ?? []),
  ];
  const child = spawn(options.file, options.args, {
    detached: true,
    stdio,
    env: { ...ownEnvironment(options.keep_env), ...options.env, [TREE_VARIABLE]: mark },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const exited = new Promise<TreeExit>((resolve) => {
    child.once("exit", (exit_code, signal) => resolve({ exit_code, signal, spawn_error: null }));
    child.on("error", (error) => {
      if (child.pid !== undefined) return;
      resolve({ exit_code: null, signal: null, spawn_error: errorMessage(error) });
    });
  });
  const { pid } = child;
  const root =
    pid === undefined ? undefined : { pid, start_token: processIdentity(pid)?.start_token };
  const members = (): number[] => (root === undefined ? [] : treeMembers(root, options.token));
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    members,
    end: (grace_s) => endTree(members, grace_s, clock),
  };
}
