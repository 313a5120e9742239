import { existsSync, realpathSync } from "node:fs";
import { basename } from "node:path";
import { isAlive } from "../../core/process-table.ts";
import { POLICY_NAME, type Env } from "../../station/resident.ts";
import { stateFiles } from "../files.ts";
import { readSnapshot } from "../snapshot.ts";
import { findBlock, readCrontab } from "./crontab.ts";
import { serviceHost, type ServiceHost } from "./host.ts";
import { lookLaunchd } from "./launchd-facts.ts";
import { managersOf, placesOf } from "./places.ts";
import { readRecord, type ServiceRecord } from "./record.ts";
import { lingerProblems, lookSystemd, readLinger, systemdVersion } from "./systemd-facts.ts";
import type { ManagerFacts, ManagerKind, Problem, ServiceReport } from "./types.ts";

/** The pid of a living daemon of the station whose state is at `state_dir`; null where none lives. */
export function daemonPid(state_dir: string): number | null {
  const snapshot = readSnapshot(stateFiles(state_dir).snapshot);
  return snapshot !== undefined && isAlive(snapshot.process) ? snapshot.process.pid : null;
}

async function lookCron(
  host: ServiceHost,
  record: ServiceRecord | undefined,
): Promise<ManagerFacts> {
  const problems: Problem[] = [];
  let installed = false;
  try {
    installed = findBlock(await readCrontab(host)) !== undefined;
  } catch (error) {
    problems.push({ what: error instanceof Error ? error.message : String(error), do: "" });
  }
  const pid = record === undefined ? null : daemonPid(record.state_dir);
  const held = existsSync(placesOf("cron", host).stopped);
  if (installed && held) {
    problems.push({ what: "cron is kept from starting it", do: "Run: touchstoned start" });
  }
  return { installed, enabled: installed && !held, running: pid !== null, pid, problems };
}

function look(
  kind: ManagerKind,
  host: ServiceHost,
  record: ServiceRecord | undefined,
): Promise<ManagerFacts> {
  if (kind === "cron") return lookCron(host, record);
  return kind === "systemd-user" || kind === "systemd-system"
    ? lookSystemd(host, kind)
    : lookLaunchd(host, kind);
}

/** What of `kind` is installed here, by its files; nobody is asked. */
function recordOf(kind: ManagerKind, host: ServiceHost): ServiceRecord | undefined {
  const record = readRecord(placesOf(kind, host));
  return record?.manager === kind ? record : undefined;
}

/** The managers of this system that have something of ours, the first choice first. */
export function installedKinds(host: ServiceHost): ManagerKind[] {
  return managersOf(host.platform).filter((kind) => {
    const { definition } = placesOf(kind, host);
    if (recordOf(kind, host) !== undefined) return true;
    return definition !== null && existsSync(definition);
  });
}

/** What is wrong with what was installed, whoever starts it. */
function installedProblems(
  kind: ManagerKind,
  host: ServiceHost,
  record: ServiceRecord | undefined,
): Problem[] {
  const problems: Problem[] = [];
  const places = placesOf(kind, host);
  const again = "Run: touchstoned install";
  if (record === undefined) {
    problems.push({ what: `${places.record} is missing or unreadable`, do: again });
  } else if (!existsSync(`${record.station}/${POLICY_NAME}`)) {
    problems.push({
      what: `its station ${record.station} is gone`,
      do: "Bring it back, or: touchstoned install --station DIR",
    });
  }
  if (!existsSync(places.launch)) problems.push({ what: `${places.launch} is gone`, do: again });
  if (!existsSync(places.current)) {
    problems.push({ what: `the program is gone from ${places.current}`, do: again });
  }
  return problems;
}

function versionAt(current: string): string | null {
  try {
    return basename(realpathSync(current));
  } catch {
    return null;
  }
}

async function reportOf(kind: ManagerKind, host: ServiceHost): Promise<ServiceReport> {
  const places = placesOf(kind, host);
  const record = recordOf(kind, host);
  const facts = await look(kind, host, record);
  const { installed, enabled, running, pid } = facts;
  const problems = [...facts.problems];
  let linger: boolean | null = null;
  if (kind.startsWith("systemd") && !host.has("systemd-notify")) {
    problems.push({
      what: "there is no systemd-notify: systemd cannot tell a wedged daemon from a healthy one",
      do: "Install the package that has it (Debian: systemd), then run: touchstoned install",
    });
  }
  if (kind === "systemd-user") {
    linger = await readLinger(host);
    problems.push(...lingerProblems(host, linger, await systemdVersion(host)));
  }
  problems.push(...installedProblems(kind, host, record));
  if (!installed) {
    problems.push({ what: "its definition is gone", do: "Run: touchstoned install" });
  } else if (!enabled && facts.problems.length === 0) {
    problems.push({ what: "it does not start by itself", do: "Run: touchstoned install" });
  }
  return {
    manager: kind,
    installed,
    enabled,
    running,
    pid,
    problems,
    linger,
    station: record?.station ?? null,
    version: versionAt(places.current),
    lib: places.lib,
    definition: places.definition,
  };
}

const NONE: ServiceReport = {
  manager: "none",
  installed: false,
  enabled: false,
  running: false,
  pid: null,
  linger: null,
  problems: [],
  station: null,
  version: null,
  lib: null,
  definition: null,
};

/** The same for a host that a caller has. */
export async function inspectHost(host: ServiceHost, only?: ManagerKind): Promise<ServiceReport> {
  const kinds = installedKinds(host);
  const kind = only ?? kinds[0];
  if (kind === undefined || !kinds.includes(kind)) return { ...NONE, problems: [] };
  const report = await reportOf(kind, host);
  const others = kinds.filter((one) => one !== kind);
  if (only === undefined && others.length > 0) {
    report.problems.push({
      what: `it is installed twice: ${kinds.join(" and ")}`,
      do: "Take one away with `touchstoned uninstall` and --user, --system or --cron.",
    });
  }
  return report;
}

/**
 * What starts the daemon on this machine, how it fares, and what is wrong with it. Looks only: asks
 * the service manager and reads files. Never throws for what it finds.
 */
export async function inspectService(
  env: Env,
  given: Partial<ServiceHost> = {},
): Promise<ServiceReport> {
  return inspectHost(serviceHost(env, given));
}
