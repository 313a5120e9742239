// Commands in a machine that runs: through the namespaces of its init, by the machine's own systemd.
import { spawn } from "node:child_process";

const SYSTEMD_RUN = words(
  "systemd-run --quiet --pipe --wait --collect --property=WorkingDirectory=~",
);
const LOGIN = "--property=PAMName=login";
const NSENTER = words("--mount --uts --ipc --net --pid --cgroup --target");

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** Whose it is [root]; any other has a login with a session of its own, as by ssh. */
  user?: string;
  /** It is ended after so long [60 s]. */
  limit_s?: number;
}

/** The words of an argument list that has no spaces in its words. */
export function words(text: string): string[] {
  return text.split(/\s+/);
}

/** Runs a script of bash in a login of the machine whose init is `leader`. */
export function runInside(leader: number, script: string, options: RunOptions): Promise<Ran> {
  const { user = "root", limit_s = 60 } = options;
  const started = [...SYSTEMD_RUN, `--uid=${user}`, `--property=RuntimeMaxSec=${limit_s}`];
  // A session of root's would do nothing but start and stop a service manager for it.
  if (user !== "root") started.push(LOGIN);
  // systemd would fill in variables of its own.
  const shell = ["bash", "-lc", script.replaceAll("$", "$$$$")];
  return nsenter(leader, [...started, ...shell], limit_s + 10);
}

/** Runs a program in all namespaces of the machine, as root. */
export function nsenter(leader: number, command: readonly string[], limit_s: number): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn("nsenter", [...NSENTER, String(leader), ...command], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
      timeout: limit_s * 1000,
      killSignal: "SIGKILL",
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
