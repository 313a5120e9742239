import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageFile } from "../../core/program.ts";
import { LABEL, type Places } from "./places.ts";
import { cronCommand, shellQuote, unitArgument, unitPath, unitText, xmlText } from "./quote.ts";
import type { ServiceRecord } from "./record.ts";

/** Everything that the templates say about one installation. */
export interface Setup {
  places: Places;
  record: ServiceRecord;
  platform: NodeJS.Platform;
  /** Whether systemd can be told that the daemon is ready and alive. */
  notify: boolean;
  /** Oldest Node that will do. */
  oldest_node: { major: number; minor: number };
}

function template(path: string): string {
  return readFileSync(packageFile(`installers/${path}`), "utf8");
}

/** Fills the holes `@NAME@`. One without a value is a fault of ours and throws. */
function fill(text: string, holes: Readonly<Record<string, string>>): string {
  return text.replaceAll(/@([A-Z_]+)@/g, (_hole, name: string) => {
    const value = holes[name];
    if (value === undefined) throw new Error(`a template names @${name}@, which has no value`);
    return value;
  });
}

/** Where programs are that jobs start: tools of the system and of runners, by their usual places. */
function servicePath(home: string, platform: NodeJS.Platform): string {
  const own = [join(home, ".local/bin"), join(home, ".lmstudio/bin")];
  const brew = platform === "darwin" ? ["/opt/homebrew/bin", "/opt/homebrew/sbin"] : [];
  const system = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  // A colon cannot be written in PATH.
  return [...own, ...brew, ...system].filter((entry) => !entry.includes(":")).join(":");
}

export function renderLauncher(setup: Setup): string {
  const { places, record, platform, oldest_node } = setup;
  const { home } = record.account;
  const env = Object.entries(record.env).map(
    ([name, value]) => `${name}=${shellQuote(value)}\nexport ${name}`,
  );
  return fill(template("launch.sh"), {
    LIB: shellQuote(places.lib),
    NODE: shellQuote(record.node ?? ""),
    NEED_MAJOR: String(oldest_node.major),
    NEED_MINOR: String(oldest_node.minor),
    HOME: shellQuote(home),
    ENV: env.length === 0 ? "# (nothing but HOME says so here)" : env.join("\n"),
    SERVICE_PATH: shellQuote(servicePath(home, platform)),
    CRASH_LOG: shellQuote(record.crash_log),
  });
}

function unit(setup: Setup): string {
  const { record, places, notify } = setup;
  const scope = record.manager === "systemd-system" ? "system" : "user";
  const readiness = template(`systemd/readiness-${notify ? "notify" : "exec"}.conf`);
  return fill(template(`systemd/touchstoned.${scope}.service`), {
    STATION_TEXT: unitText(record.station),
    STATION_PATH: unitPath(record.station),
    HOME_PATH: unitPath(record.account.home),
    USER: record.account.user,
    READINESS: readiness.trimEnd(),
    LAUNCH: unitArgument(places.launch),
    STATION: unitArgument(record.station),
  });
}

function plist({ record, places }: Setup): string {
  const kind = record.manager === "launchd-daemon" ? "daemon" : "agent";
  return fill(template(`launchd/${kind}.plist`), {
    LABEL,
    USER: xmlText(record.account.user),
    LAUNCH: xmlText(places.launch),
    STATION: xmlText(record.station),
    CRASH_LOG: xmlText(record.crash_log),
  });
}

function cronBlock({ record, places }: Setup): string {
  const { launch } = places;
  const words = ["--cron", "daemon", "--station", shellQuote(record.station), "--stop-within 60"];
  const line = `/bin/sh ${shellQuote(launch)} ${words.join(" ")} >>${shellQuote(record.crash_log)} 2>&1`;
  return fill(template("cron/crontab"), { COMMAND: cronCommand(line) });
}

/** The unit file, plist or cron block of the service. */
export function renderDefinition(setup: Setup): string {
  const { manager } = setup.record;
  if (manager === "cron") return cronBlock(setup);
  return manager.startsWith("systemd") ? unit(setup) : plist(setup);
}
