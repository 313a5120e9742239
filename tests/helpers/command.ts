import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface CommandRun {
  exit_code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunningCommand {
  child: ChildProcessWithoutNullStreams;
  finished: Promise<CommandRun>;
  /** What was written so far. */
  output(): { stdout: string; stderr: string };
}

export interface CommandSetting {
  cwd?: string;
  /** Replaces variables of ours; `undefined` takes one away. */
  env?: Record<string, string | undefined>;
  /** Extra descriptors for the child, from number 3 on. */
  descriptors?: number[];
  /** Where the child writes instead of to us. */
  stdout?: number;
  stderr?: number;
}

/** Starts the real `touchstoned` from its sources. */
export function startCommand(
  args: readonly string[],
  setting: CommandSetting = {},
): RunningCommand {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: setting.cwd,
    env: { ...process.env, ...setting.env },
    stdio: [
      "pipe",
      setting.stdout ?? "pipe",
      setting.stderr ?? "pipe",
      ...(setting.descriptors ?? []),
    ],
  }) as ChildProcessWithoutNullStreams;
  let stdout = "";
  let stderr = "";
  // Absent where the output goes elsewhere.
  const { stdout: out, stderr: err } = child as Pick<ChildProcess, "stdout" | "stderr">;
  out?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  err?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = new Promise<CommandRun>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exit_code, signal) => resolve({ exit_code, signal, stdout, stderr }));
  });
  return { child, finished, output: () => ({ stdout, stderr }) };
}

/** Runs the real `touchstoned` to its end. */
export async function command(
  args: readonly string[],
  setting: CommandSetting = {},
): Promise<CommandRun> {
  const running = startCommand(args, setting);
  running.child.stdin.end();
  return running.finished;
}

/** Variables that keep a test's state, configuration and lock inside `home`. */
export function isolatedEnv(home: string): Record<string, string> {
  return {
    HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    XDG_STATE_HOME: `${home}/state`,
    XDG_DATA_HOME: `${home}/data`,
    XDG_CACHE_HOME: `${home}/cache`,
    TOUCHSTONED_STATION: "",
    TOUCHSTONED_LOCK: `${home}/model.lock`,
  };
}
