import { isAbsolute, join } from "node:path";
import { userPaths, variable } from "../../station/resident.ts";
import type { ServiceHost } from "./host.ts";
import { systemPath } from "./system-path.ts";
import type { ManagerKind } from "./types.ts";

/** What of a host says where things lie. */
export type PlacesHost = Pick<ServiceHost, "platform" | "env" | "home" | "root">;

export const UNIT = "touchstoned.service";
export const LABEL = "dev.touchstoned.daemon";

/** Where the things of an installed service lie. None of them need be there. */
export interface Places {
  lib: string;
  /** One directory a version of the program. */
  versions: string;
  /** A link to the version that runs. */
  current: string;
  /** The launcher, a POSIX shell script. */
  launch: string;
  /** What was installed: see `record.ts`. */
  record: string;
  /** There: cron is not to start the daemon. */
  stopped: string;
  /** Unit file or plist; null for cron, whose block lies in the crontab. */
  definition: string | null;
}

export function isSystemWide(kind: ManagerKind): boolean {
  return kind === "systemd-system" || kind === "launchd-daemon";
}

function configHome(host: PlacesHost): string {
  const value = variable(host.env, "XDG_CONFIG_HOME");
  return value !== undefined && isAbsolute(value) ? value : join(host.home, ".config");
}

/** `$XDG_DATA_HOME/touchstoned` where that is set, else what Python and others use for programs. */
function userLib(host: PlacesHost): string {
  if (host.platform === "darwin") return join(userPaths(host.env, "darwin").data_dir, "lib");
  const value = variable(host.env, "XDG_DATA_HOME");
  if (value !== undefined && isAbsolute(value)) return join(value, "touchstoned");
  return join(host.home, ".local", "lib", "touchstoned");
}

function definitionOf(kind: ManagerKind, host: PlacesHost): string | null {
  const plist = `${LABEL}.plist`;
  return {
    "systemd-user": join(configHome(host), "systemd", "user", UNIT),
    "systemd-system": systemPath(host, `/etc/systemd/system/${UNIT}`),
    "launchd-agent": join(host.home, "Library", "LaunchAgents", plist),
    "launchd-daemon": systemPath(host, `/Library/LaunchDaemons/${plist}`),
    cron: null,
  }[kind];
}

export function placesOf(kind: ManagerKind, host: PlacesHost): Places {
  const lib = isSystemWide(kind) ? systemPath(host, "/usr/local/lib/touchstoned") : userLib(host);
  return {
    lib,
    versions: join(lib, "versions"),
    current: join(lib, "current"),
    launch: join(lib, "launch"),
    record: join(lib, "service.json"),
    stopped: join(lib, "stopped"),
    definition: definitionOf(kind, host),
  };
}

/** The managers that this system may have, the first choice first. */
export function managersOf(platform: NodeJS.Platform): ManagerKind[] {
  return platform === "darwin"
    ? ["launchd-agent", "launchd-daemon", "cron"]
    : ["systemd-user", "systemd-system", "cron"];
}
