import { statSync } from "node:fs";
import { dirname } from "node:path";
import { realDisk } from "../core/disk.ts";
import { askingUser, confine, modeFault, userPaths } from "../station/resident.ts";
import type { Store } from "../store/index.ts";
import type { Base } from "./base.ts";
import type { Report } from "./report.ts";
import { Schedule } from "./schedule.ts";

/** As for a file of the inbox: it starts work here, so nobody else may write it or move it away. */
function chainInStation(path: string, { station, env }: Base): string | null {
  const asker = askingUser(userPaths(env).home);
  for (let at = path; ; at = dirname(at)) {
    const fault = modeFault(at, statSync(at), asker);
    if (fault !== null || at === station.root || dirname(at) === at) return fault;
  }
}

/** The schedule of a station; loaded only where there is one. */
export function openSchedule(
  base: Base,
  store: Pick<Store, "submissions">,
  report: Pick<Report, "say" | "warn">,
): Schedule {
  const { station, clock, new_id, inbox, files } = base;
  return new Schedule({
    disk: realDisk,
    clock,
    new_id,
    store,
    inbox,
    state_path: files.schedule,
    min_age_ms: station.settings.inbox.min_age_seconds * 1000,
    locate: (file) => confine(station.root, file, "file"),
    distrust: (path) => chainInStation(path, base),
    say: (text) => report.say(text),
    warn: (text) => report.warn(text),
  });
}
