import { existsSync } from "node:fs";
import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import type { ServiceHost } from "./host.ts";
import { installedKinds } from "./inspect.ts";
import { isSystemWide, placesOf } from "./places.ts";
import { readRecord } from "./record.ts";
import { hasSystemd } from "./systemd-facts.ts";
import type { ManagerKind } from "./types.ts";

/** What a person asks for with `--user`, `--system` or `--cron`. */
export type Wanted = "user" | "system" | "cron";

/** The options as they come; two at once are a mistake. */
export function wantedOf(options: {
  user?: boolean;
  system?: boolean;
  cron?: boolean;
}): Wanted | undefined {
  const given = (["user", "system", "cron"] as const).filter((name) => options[name] === true);
  if (given.length > 1) {
    throw usageError(`--${given.join(" and --")} exclude each other`, "Name one of them.");
  }
  return given[0];
}

function kindFor(wanted: Wanted, platform: NodeJS.Platform): ManagerKind {
  if (wanted === "cron") return "cron";
  if (platform === "darwin") return wanted === "system" ? "launchd-daemon" : "launchd-agent";
  return wanted === "system" ? "systemd-system" : "systemd-user";
}

/** What `install` uses: as asked, else the user's own manager, else cron, where there is no other. */
export function chooseKind(host: ServiceHost, wanted: Wanted | undefined): ManagerKind {
  if (wanted !== undefined) return kindFor(wanted, host.platform);
  const own = kindFor("user", host.platform);
  return own === "systemd-user" && !hasSystemd(host) ? "cron" : own;
}

/** The service that `start`, `stop` and the others mean. Throws where there is none, or which is not clear. */
export function installedKind(host: ServiceHost, wanted: Wanted | undefined): ManagerKind {
  const kinds = installedKinds(host);
  const kind = wanted === undefined ? kinds[0] : kindFor(wanted, host.platform);
  if (kind === undefined || !kinds.includes(kind)) {
    const others = kinds.length === 0 ? "" : ` (but as ${kinds.join(" and ")})`;
    throw new TouchstonedError({
      code: "not_installed",
      exitCode: EXIT.unavailable,
      message: `touchstoned is not installed as a service${wanted === undefined ? "" : ` with --${wanted}`}${others}`,
      hint: "`touchstoned install` installs it; `touchstoned daemon` runs it in this terminal.",
    });
  }
  if (wanted === undefined && kinds.length > 1) {
    throw usageError(
      `touchstoned is installed as ${kinds.join(" and as ")}`,
      "Say which with --user, --system or --cron.",
    );
  }
  return kind;
}

const OPTION: Record<ManagerKind, string> = {
  "systemd-user": "--user",
  "systemd-system": "--system",
  "launchd-agent": "--user",
  "launchd-daemon": "--system",
  cron: "--cron",
};

export function optionOf(kind: ManagerKind): string {
  return OPTION[kind];
}

/** Throws where another installation is in the way: two that start one station, one that runs another. */
export function refuseSecond(
  host: ServiceHost,
  kind: ManagerKind,
  station: string | undefined,
): void {
  for (const there of installedKinds(host)) {
    const record = readRecord(placesOf(there, host));
    const other = record?.station;
    const gone = other === undefined || !existsSync(other);
    if (there === kind) {
      if (gone || station === undefined || other === station) continue;
      throw second(
        `the service runs another station already: ${other}`,
        `\`touchstoned uninstall ${optionOf(kind)}\` takes it away and keeps that station; then install again. ` +
          "Files for both can be dropped into one inbox.",
      );
    }
    // A service of the system may run another user's station beside ours.
    if (isSystemWide(there) && other !== undefined && other !== station) continue;
    throw second(
      `touchstoned is installed already, as ${there}${other === undefined ? "" : ` for ${other}`}`,
      `Take that one away first: touchstoned uninstall ${optionOf(there)}`,
    );
  }
}

function second(message: string, hint: string): TouchstonedError {
  return new TouchstonedError({ code: "installed_already", exitCode: EXIT.refused, message, hint });
}

/** Throws where only root may do what is asked. */
export function requireRoot(host: ServiceHost, kind: ManagerKind, command: string): void {
  if (!isSystemWide(kind) || host.uid === 0) return;
  throw new TouchstonedError({
    code: "needs_root",
    exitCode: EXIT.refused,
    message: `a service of the whole system is root's to ${command.split(" ", 1)[0] ?? command}`,
    hint: `Run: sudo ${[process.execPath, process.argv[1] ?? "touchstoned"].join(" ")} ${command}`,
  });
}
