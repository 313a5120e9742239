import { userInfo } from "node:os";
import { delimiter, isAbsolute } from "node:path";
import { systemClock, type Clock } from "../../core/clock.ts";
import { onPath } from "../../core/on-path.ts";
import { runCommand, type CommandResult } from "../../core/process.ts";
import { homeOf } from "../../core/user-dirs.ts";
import { variable, type Env } from "../../station/resident.ts";
import { programSource, type ProgramSource } from "./program-copy.ts";

export { systemPath } from "./system-path.ts";

/** A service manager that says nothing for so long says nothing at all. */
const COMMAND_LIMIT_S = 30;

/** Where tools of the system are that a thin PATH leaves out (a service's, cron's, `su` without `-`). */
const MORE_PLACES = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

export interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  timeout_s?: number;
}

/** The machine on which something is installed, as an argument. */
export interface ServiceHost {
  platform: NodeJS.Platform;
  /** Who asks. */
  uid: number;
  user: string;
  home: string;
  env: Env;
  clock: Clock;
  /** What stands before paths of the system: `/`. */
  root: string;
  /** The Node that runs us. */
  exec_path: string;
  /** What is installed: this program. */
  program(): ProgramSource;
  /** Whether a program of this name can be started. */
  has(file: string): boolean;
  /** Runs a tool of the system in the C locale. Never rejects. */
  run(file: string, args: readonly string[], options?: RunOptions): Promise<CommandResult>;
}

function toolPath(env: Env): string {
  const own = (variable(env, "PATH") ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  return [...own, ...MORE_PLACES.filter((place) => !own.includes(place))].join(delimiter);
}

export function serviceHost(env: Env, given: Partial<ServiceHost> = {}): ServiceHost {
  const path = toolPath(env);
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? 0,
    user: userInfo().username,
    home: homeOf(env),
    env,
    clock: systemClock,
    root: "/",
    exec_path: process.execPath,
    program: () => programSource(),
    has: (file) => onPath(file, path),
    run: (file, args, options = {}) =>
      runCommand(file, args, {
        timeout_s: options.timeout_s ?? COMMAND_LIMIT_S,
        cwd: "/",
        env: { PATH: path, LC_ALL: "C", ...options.env },
        ...(options.input === undefined ? {} : { input: options.input }),
      }),
    ...given,
  };
}

/** The first line that a tool said, of its complaints before its answers. */
export function firstLine(result: CommandResult): string {
  const said = `${result.stderr}\n${result.stdout}`.trim().split("\n", 1)[0] ?? "";
  return said === "" ? (result.error ?? "it said nothing") : said.slice(0, 200);
}
