import { existsSync } from "node:fs";
import { join } from "node:path";
import { variable } from "../../station/resident.ts";
import { firstLine, systemPath, type RunOptions, type ServiceHost } from "./host.ts";
import { placesOf, UNIT } from "./places.ts";
import type { ManagerFacts, Problem } from "./types.ts";

type Scope = "systemd-user" | "systemd-system";

const ASKED = [
  "LoadState",
  "ActiveState",
  "SubState",
  "UnitFileState",
  "MainPID",
  "Result",
  "ExecMainStatus",
  "NeedDaemonReload",
];

/** The properties of the first unit in what `systemctl show` or `loginctl show-user` prints. */
export function properties(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.trim() === "" && found.size > 0) break;
    const at = line.indexOf("=");
    // Values may hold further signs of equality.
    if (at > 0) found.set(line.slice(0, at), line.slice(at + 1));
  }
  return found;
}

/** What `touchstoned.service` is by the words of `systemctl show`. */
export function unitFacts(
  text: string,
): Omit<ManagerFacts, "problems"> & { failed: string | null } {
  const found = properties(text);
  const pid = Number(found.get("MainPID") ?? "0");
  const active = found.get("ActiveState") ?? "";
  const status = found.get("ExecMainStatus") ?? "?";
  return {
    installed: found.get("LoadState") === "loaded",
    enabled: (found.get("UnitFileState") ?? "").startsWith("enabled"),
    running: pid > 0 && active !== "failed",
    pid: pid > 0 ? pid : null,
    failed:
      active === "failed"
        ? `systemd gave it up: ${found.get("Result") ?? "failed"}, exit status ${status}`
        : null,
  };
}

/** Whether systemd runs this machine, by the sign that systemd itself names for it. */
export function hasSystemd(host: ServiceHost): boolean {
  return existsSync(systemPath(host, "/run/systemd/system"));
}

/**
 * Variables that lead `systemctl --user` to the user's manager. `su` and cron leave them out although
 * the manager is there.
 */
function busEnv(host: ServiceHost): Record<string, string> {
  if (variable(host.env, "XDG_RUNTIME_DIR") !== undefined) return {};
  const runtime = systemPath(host, `/run/user/${host.uid}`);
  if (!existsSync(runtime)) return {};
  const bus = join(runtime, "bus");
  return {
    XDG_RUNTIME_DIR: runtime,
    ...(existsSync(bus) ? { DBUS_SESSION_BUS_ADDRESS: `unix:path=${bus}` } : {}),
  };
}

/** `systemctl` of one of the two managers. */
export async function systemctl(
  host: ServiceHost,
  scope: Scope,
  args: readonly string[],
  options: RunOptions = {},
) {
  const own = scope === "systemd-user" ? ["--user"] : [];
  const env = scope === "systemd-user" ? busEnv(host) : {};
  return host.run("systemctl", [...own, ...args], { ...options, env: { ...env, ...options.env } });
}

/** Whether `systemctl` reached nobody, by what it says; the words differ by what is missing. */
export function reachedNobody(text: string): boolean {
  return /Failed to connect to (?:\S+ scope )?bus|has not been booted with systemd/i.test(text);
}

/** Why the user's own manager cannot be reached, and what brings it up. */
export function noBus(host: ServiceHost, said: string): Problem {
  const enable = `sudo loginctl enable-linger ${host.user}`;
  const over_su = variable(host.env, "XDG_RUNTIME_DIR") === undefined;
  const why = over_su ? " (`su` and `sudo -u` make no session)" : "";
  return {
    what: `the service manager of ${host.user} cannot be reached${why}: ${said}`,
    do: `Log in as ${host.user} by ssh or at the screen, or start its manager without a login: ${enable}`,
  };
}

/** Whether this user's services run without a login; null where that cannot be found out. */
export async function readLinger(host: ServiceHost): Promise<boolean | null> {
  const told = await host.run("loginctl", ["show-user", host.user, "--property=Linger"]);
  const linger = told.ok ? properties(told.stdout).get("Linger") : undefined;
  if (linger !== undefined) return linger === "yes";
  // Who is not logged in and does not linger is unknown to logind; the mark is a file.
  const marks = systemPath(host, "/var/lib/systemd/linger");
  return existsSync(marks) || hasSystemd(host) ? existsSync(join(marks, host.user)) : null;
}

/** `255` or `256.3` of `systemd 256 (256.3-1)`; null where it is not known. */
export async function systemdVersion(host: ServiceHost): Promise<string | null> {
  const told = await host.run("systemctl", ["--version"]);
  const [, major, full] = /^systemd (\d+)(?: \((\d+(?:\.\d+)*))?/.exec(told.stdout) ?? [];
  return full ?? major ?? null;
}

/**
 * These end the manager of a user whose last login goes, linger or not (systemd#43361): from 255 on,
 * mended in 256.3, and not in what distributions made of 255 (Ubuntu 24.04).
 */
function losesLinger(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major === 255 || (major === 256 && minor < 3);
}

/** What keeps a user's service from running on when its user logs out. */
export function lingerProblems(
  host: ServiceHost,
  linger: boolean | null,
  version: string | null,
): Problem[] {
  const problems: Problem[] = [];
  if (linger === false) {
    problems.push({
      what: `the service ends when ${host.user} logs out, and does not start at boot`,
      do: `Run: sudo loginctl enable-linger ${host.user}`,
    });
  }
  if (version !== null && losesLinger(version)) {
    problems.push({
      what: `systemd ${version} ends the services of a user who logs out, linger or not`,
      do: "Upgrade systemd to 256.3 or newer, or install a system unit: sudo touchstoned install --system",
    });
  }
  return problems;
}

export interface SystemdLook extends ManagerFacts {
  /** False where the manager did not answer; the files had to. */
  reached: boolean;
}

/** What can be known without the manager's answer. */
function byFiles(host: ServiceHost, scope: Scope, problem: Problem): SystemdLook {
  const { definition } = placesOf(scope, host);
  const wants = join(
    definition ?? "",
    "..",
    scope === "systemd-user" ? "default.target.wants" : "multi-user.target.wants",
    UNIT,
  );
  return {
    installed: definition !== null && existsSync(definition),
    enabled: existsSync(wants),
    running: false,
    pid: null,
    problems: [problem],
    reached: false,
  };
}

export async function lookSystemd(host: ServiceHost, scope: Scope): Promise<SystemdLook> {
  const told = await systemctl(host, scope, ["show", UNIT, `--property=${ASKED.join(",")}`]);
  if (!told.ok) {
    const said = firstLine(told);
    const problem =
      scope === "systemd-user" && hasSystemd(host) && reachedNobody(told.stderr)
        ? noBus(host, said)
        : { what: `systemd does not answer: ${said}`, do: "See `systemctl status`." };
    return byFiles(host, scope, problem);
  }
  const { failed, ...facts } = unitFacts(told.stdout);
  const problems: Problem[] = [];
  if (failed !== null) {
    problems.push({
      what: failed,
      do: "`touchstoned logs` says why; then: touchstoned start",
    });
  }
  if (facts.installed && properties(told.stdout).get("NeedDaemonReload") === "yes") {
    const own = scope === "systemd-user" ? " --user" : "";
    problems.push({
      what: "the unit was changed and systemd has not read it again",
      do: `Run: systemctl${own} daemon-reload && touchstoned restart`,
    });
  }
  return { ...facts, problems, reached: true };
}
