import { shellWord } from "../../../core/shell-word.ts";
import type { ServiceReport } from "../../service/index.ts";
import { failure, ok, warning, type Line } from "../line.ts";

export interface ServiceInput {
  report: ServiceReport;
  /** The station that doctor looks at; null where there is none. */
  root: string | null;
  /** Of this very program. */
  version: string;
}

const NAMES: Readonly<Record<Exclude<ServiceReport["manager"], "none">, string>> = {
  "systemd-user": "a user unit of systemd",
  "systemd-system": "a system unit of systemd",
  "launchd-agent": "a launchd agent",
  "launchd-daemon": "a launchd daemon",
  cron: "cron",
};

function problemLines({ problems, running }: ServiceReport): Line[] {
  return problems.map(({ what, do: todo }) => {
    const action = todo === "" ? "touchstoned install sets it up anew." : todo;
    const text = `service: ${what}`;
    return running ? warning(text, action) : failure(text, action);
  });
}

/** Version directories are called after the version, and after the content where there are two of it. */
function isVersion(installed: string, version: string): boolean {
  return installed === version || installed.startsWith(`${version}+`);
}

/** What starts the daemon, and whether it starts the right one. */
export function serviceLines({ report, root, version }: ServiceInput): Line[] {
  const { manager, running, enabled, pid, linger, station, version: installed } = report;
  if (manager === "none") {
    return [
      warning(
        "nothing starts the daemon by itself: after a reboot it does not run",
        "touchstoned install (touchstoned install --dry-run shows what it would do)",
      ),
    ];
  }
  const lines = problemLines(report);
  if (!running && lines.length === 0) {
    lines.push(failure(`${NAMES[manager]} is installed, and does not run`, "touchstoned start"));
  }
  if (root !== null && station !== null && station !== root) {
    lines.push(
      warning(
        `the service runs another station: ${station}`,
        `To look at that one: touchstoned doctor --station ${shellWord(station)}. To run this one instead: touchstoned uninstall, then touchstoned install --station ${shellWord(root)}`,
      ),
    );
  }
  if (installed !== null && !isVersion(installed, version)) {
    lines.push(
      warning(
        `the service runs touchstoned ${installed}, and this is ${version}`,
        "touchstoned upgrade brings the service up to this one.",
      ),
    );
  }
  if (lines.length > 0) return lines;
  const parts = [
    enabled ? "starts by itself" : "started by hand",
    `runs${pid === null ? "" : ` (pid ${pid})`}`,
    linger === true ? "without a login, too" : null,
  ].filter((part) => part !== null);
  return [ok(`${NAMES[manager]}: ${parts.join(", ")}`)];
}
