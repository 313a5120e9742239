import { CronManager } from "./cron-manager.ts";
import type { ServiceHost } from "./host.ts";
import { LaunchdManager } from "./launchd-manager.ts";
import type { ServiceManager } from "./manager.ts";
import type { ServiceRecord } from "./record.ts";
import { SystemdManager } from "./systemd-manager.ts";
import type { ManagerKind } from "./types.ts";

/** The manager of this kind; `block` is what cron's crontab is to hold. */
export function managerOf(
  kind: ManagerKind,
  host: ServiceHost,
  record: ServiceRecord | undefined,
  block = "",
): ServiceManager {
  if (kind === "cron") return new CronManager(host, record, block);
  return kind === "systemd-user" || kind === "systemd-system"
    ? new SystemdManager(host, kind, record)
    : new LaunchdManager(host, kind, record);
}
