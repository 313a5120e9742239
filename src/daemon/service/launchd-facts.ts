import { existsSync } from "node:fs";
import { firstLine, type ServiceHost } from "./host.ts";
import { LABEL, placesOf } from "./places.ts";
import type { ManagerFacts, Problem } from "./types.ts";

export type LaunchdKind = "launchd-agent" | "launchd-daemon";

/** What `launchctl print DOMAIN/LABEL` says. */
export interface PrintedService {
  loaded: boolean;
  /** `running`, `not running`, `waiting` ...; null where the text does not say. */
  state: string | null;
  job_state: string | null;
  pid: number | null;
  last_exit_code: number | null;
  path: string | null;
  domain: string | null;
  properties: string[];
}

/**
 * Reads it. Only lines of the service itself count, by their indentation: its endpoints and events
 * have a `state` of their own that says something else. `launchctl` calls the text no interface.
 */
export function parsePrint(text: string): PrintedService {
  const top = new Map<string, string>();
  let depth = 0;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "}") depth -= 1;
    const [, name, value] = /^(\S.*?) = (.*)$/.exec(line) ?? [];
    if (depth === 1 && name !== undefined && value !== undefined && value !== "{") {
      if (!top.has(name)) top.set(name, value);
    }
    if (line.endsWith("{")) depth += 1;
  }
  const number = (name: string): number | null => {
    const value = top.get(name);
    return value !== undefined && /^-?\d+\b/.test(value) ? Number.parseInt(value, 10) : null;
  };
  const domain = top.get("domain")?.split(" ", 1)[0];
  return {
    loaded: top.size > 0,
    state: top.get("state") ?? null,
    job_state: top.get("job state") ?? null,
    pid: number("pid"),
    last_exit_code: number("last exit code"),
    path: top.get("path") ?? null,
    domain: domain ?? null,
    properties: (top.get("properties") ?? "").split(" | ").filter((word) => word !== ""),
  };
}

/** Why `launchctl print` failed; 113 is its exit status for a service that is not loaded. */
export function printFailure(text: string): "service_not_found" | "other" {
  return /Could not find service\b/.test(text) ? "service_not_found" : "other";
}

/** Where launchd keeps the service: the screen session of a user, or the system. */
export function domainOf(kind: LaunchdKind, { uid }: Pick<ServiceHost, "uid">): string {
  return kind === "launchd-agent" ? `gui/${uid}` : "system";
}

export function targetOf(kind: LaunchdKind, host: Pick<ServiceHost, "uid">): string {
  return `${domainOf(kind, host)}/${LABEL}`;
}

/** Whether a person has switched it off: `"LABEL" => disabled` (older: `=> true`). */
function isDisabled(text: string): boolean {
  const line = text.split("\n").find((one) => one.includes(`"${LABEL}"`)) ?? "";
  return /=>\s*(disabled|true)/.test(line);
}

export interface LaunchdLook extends ManagerFacts {
  loaded: boolean;
}

export async function lookLaunchd(host: ServiceHost, kind: LaunchdKind): Promise<LaunchdLook> {
  const { definition } = placesOf(kind, host);
  const installed = definition !== null && existsSync(definition);
  const told = await host.run("launchctl", ["print", targetOf(kind, host)]);
  const printed = parsePrint(told.ok ? told.stdout : "");
  const off = await host.run("launchctl", ["print-disabled", domainOf(kind, host)]);
  const disabled = off.ok && isDisabled(off.stdout);
  const problems: Problem[] = [];
  if (installed && !printed.loaded) {
    const known = printFailure(`${told.stderr}\n${told.stdout}`) === "service_not_found";
    problems.push({
      what: known ? "launchd has not loaded it" : `launchctl print: ${firstLine(told)}`,
      do: known ? "Run: touchstoned start" : "See `touchstoned logs`.",
    });
  }
  if (disabled) problems.push({ what: "it is switched off in launchd", do: "touchstoned start" });
  const { state, job_state, pid, last_exit_code } = printed;
  const running = (state ?? job_state) === "running";
  if (printed.loaded && !running && last_exit_code !== null && last_exit_code !== 0) {
    problems.push({
      what: `it ended with exit status ${last_exit_code}; launchd starts it again`,
      do: "`touchstoned logs` says why.",
    });
  }
  return {
    loaded: printed.loaded,
    installed,
    enabled: installed && !disabled,
    running,
    pid: running ? pid : null,
    problems,
  };
}
