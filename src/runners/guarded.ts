import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import { ensureDir, readTextIfThere } from "../core/files.ts";
import type { UlidSource } from "../core/ids.ts";
import { startTree, type ProcessTree, type TreeExit } from "../core/process.ts";
import { selfCommand } from "../core/program.ts";
import { slug } from "../core/text.ts";
import type { RunnerDeps } from "./adapter.ts";
import { parseGuardLine } from "./guard.ts";
import { connectRunner } from "./registry.ts";
import type { Runner, RunnerSettings } from "./runner.ts";

export interface StartDeps extends RunnerDeps {
  /** Directory for the server's log; made where it is missing. */
  work_dir: string;
  new_id: UlidSource;
  signal?: AbortSignal | undefined;
  /** Longest wait until the model is loaded [900]; big models come from slow disks. */
  ready_limit_s?: number;
  env?: Readonly<Record<string, string | undefined>>;
}

export interface StartedRunner {
  runner: Runner;
  url: string;
  /** The server itself, not its guard. */
  pid: number;
  log_path: string;
  /** SIGTERM, ten seconds, SIGKILL, for the whole tree. Throws where something survives. */
  stop: () => Promise<void>;
  /** When the server has ended, by whatever. */
  exited: Promise<TreeExit>;
}

/** A server's command line on the port that it gets. */
export interface ServerCommand {
  argv: readonly string[];
  /** Added to its environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Variables of ours that it may see; all where left out. */
  keep_env?: readonly string[] | undefined;
}

const READY_LIMIT_S = 900;
const STOP_GRACE_S = 10;
const LOOK_INTERVAL_MS = 100;
const LOOK_LIMIT_S = 5;
const LOG_TAIL_LINES = 12;
/** Another program may take the free port before the server does. */
const START_TRIES = 3;
const PORT_TAKEN = /address already in use|couldn't bind|EADDRINUSE/i;

/** A port that nobody listens on right now. */
async function freePort(): Promise<number> {
  const server = createServer();
  const address = await new Promise<ReturnType<typeof server.address>>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server.address()));
  });
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

export function unavailable(message: string, hint?: string): TouchstonedError {
  return new TouchstonedError({
    code: "runner_not_started",
    exitCode: EXIT.unavailable,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

function tail(log_path: string): string {
  const lines = (readTextIfThere(log_path) ?? "").trimEnd().split("\n");
  return lines.slice(-LOG_TAIL_LINES).join("\n");
}

interface Guarded {
  tree: ProcessTree;
  /** Undefined where the program could not be started at all. */
  pid: Promise<number | undefined>;
  exited: Promise<TreeExit>;
}

function startGuarded(command: ServerCommand, log_path: string, deps: StartDeps): Guarded {
  const [program, ...self] = selfCommand();
  const token = deps.new_id();
  const kept = command.keep_env;
  const names = [...(kept ?? []), ...Object.keys(command.env ?? {})];
  const only = kept === undefined ? [] : ["--keep-env", names.join(",")];
  const log = openSync(log_path, "a");
  const tree = startTree(
    {
      file: program,
      args: [...self, "_guard", ...only, "--", ...command.argv],
      token,
      ...(command.env === undefined ? {} : { env: { ...command.env } }),
      stdin: "pipe", // held open as long as we live: its end tells the guard that we are gone
      stdout: "pipe",
      stderr: log,
    },
    deps.clock,
  );
  closeSync(log);
  tree.stdin?.on("error", () => undefined); // the guard may die before us
  let told: TreeExit | undefined;
  const pid = new Promise<number | undefined>((resolve) => {
    if (tree.stdout === null) return resolve(undefined);
    const lines = createInterface({ input: tree.stdout });
    lines.on("line", (line) => {
      const said = parseGuardLine(line);
      if (said === undefined) return;
      if ("pid" in said) resolve(said.pid);
      else told = said.exit;
    });
    lines.once("close", () => resolve(undefined));
  });
  const exited = Promise.all([tree.exited, pid]).then(([exit]) => told ?? exit);
  return { tree, pid, exited };
}

function deathMessage(settings: RunnerSettings, exit: TreeExit, log_path: string): string {
  const how =
    exit.spawn_error ??
    (exit.signal === null ? `it ended with status ${exit.exit_code}` : `it died of ${exit.signal}`);
  const log = tail(log_path);
  return `runner "${settings.name}" did not start: ${how}${log === "" ? "" : `\n${log}`}`;
}

type Readiness = { ready: true } | { ready: false; exit: TreeExit | null; reason: string };

async function waitReady(
  runner: Runner,
  exited: Promise<TreeExit>,
  deps: StartDeps,
): Promise<Readiness> {
  const limit_s = deps.ready_limit_s ?? READY_LIMIT_S;
  const deadline_ms = deps.clock.monotonic_ms() + limit_s * 1000;
  let exit: TreeExit | undefined;
  void exited.then((value) => (exit = value));
  for (;;) {
    const status = await runner.status(LOOK_LIMIT_S);
    if (exit !== undefined) return { ready: false, exit, reason: "it ended" };
    if (deps.signal?.aborted === true) return { ready: false, exit: null, reason: "cancelled" };
    if (status.reachable && !status.loading) return { ready: true };
    if (deps.clock.monotonic_ms() >= deadline_ms) {
      const reason = `not ready after ${limit_s} s (${status.reason ?? "no reason given"})`;
      return { ready: false, exit: null, reason };
    }
    await deps.clock.sleep(LOOK_INTERVAL_MS, deps.signal);
  }
}

async function stopTree(name: string, tree: ProcessTree): Promise<void> {
  const survivors = await tree.end(STOP_GRACE_S);
  if (survivors.length > 0) {
    throw unavailable(`runner "${name}": processes ${survivors.join(", ")} cannot be killed`);
  }
}

/** One try. Undefined where another program took the port in the meantime. */
async function tryStart(
  settings: RunnerSettings,
  command: (port: number) => ServerCommand,
  deps: StartDeps,
): Promise<StartedRunner | undefined> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log_path = join(deps.work_dir, `runner-${slug(settings.name)}-${deps.new_id()}.log`);
  const guarded = startGuarded(command(port), log_path, deps);
  const { tree, exited } = guarded;
  const pid = await guarded.pid;
  if (pid === undefined) {
    await tree.end(STOP_GRACE_S);
    throw unavailable(deathMessage(settings, await exited, log_path));
  }
  const runner = connectRunner({ ...settings, url }, { clock: deps.clock, server_pid: pid });
  const readiness = await waitReady(runner, exited, deps);
  if (!readiness.ready) {
    await stopTree(settings.name, tree);
    if (readiness.exit !== null && PORT_TAKEN.test(tail(log_path))) return undefined;
    throw readiness.exit === null
      ? unavailable(
          `runner "${settings.name}" did not start: ${readiness.reason}\n${tail(log_path)}`,
        )
      : unavailable(deathMessage(settings, readiness.exit, log_path));
  }
  return { runner, url, pid, log_path, exited, stop: () => stopTree(settings.name, tree) };
}

/**
 * Starts a server on a free port and waits until it answers. It dies with us, also when we are
 * killed. Throws `runner_not_started` (exit code 69) with the end of the server's log.
 */
export async function startServer(
  settings: RunnerSettings,
  command: (port: number) => ServerCommand,
  deps: StartDeps,
): Promise<StartedRunner> {
  ensureDir(deps.work_dir);
  for (let attempt = 1; attempt <= START_TRIES; attempt += 1) {
    const started = await tryStart(settings, command, deps);
    if (started !== undefined) return started;
  }
  throw unavailable(`runner "${settings.name}" did not start: every free port was taken at once`);
}
