import { existsSync, readdirSync } from "node:fs";
import { requireRuns, runsFault } from "../station/resident.ts";
import { openSqliteStore, type Store } from "../store/index.ts";
import type { Base } from "./base.ts";
import { wasHeld } from "./files.ts";

function isEmpty(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}

/** Opens the store; one that is new or was set aside is filled from the files. */
export async function openStore(base: Base, warn: (text: string) => void): Promise<Store> {
  const { files, clock, station, env, inbox } = base;
  // Without the runs a new store would be an empty one.
  const away = runsFault(station) !== null;
  if (away && !existsSync(files.store)) requireRuns(station);
  const opened = await openSqliteStore({
    path: files.store,
    now_ms: clock.now_ms(),
    role: away ? "guest" : "owner",
  });
  if (opened.set_aside !== null) {
    warn(`${files.store} was unreadable: moved to ${opened.set_aside}, rebuilt from the files`);
  }
  const held = wasHeld(files);
  if (opened.created && (held || !isEmpty(station.runs_dir))) {
    const { openSetting, rebuildStore, rebuildText } = await import("./index.ts");
    const report = await rebuildStore({
      ...openSetting(station, clock, env),
      inbox,
      store: opened.store,
      runs_dir: station.runs_dir,
      held,
    });
    if (report.submissions + report.left_out.length > 0 || report.held)
      warn(`rebuilt ${rebuildText(report)}`);
    for (const { directory, reason } of report.left_out) warn(`${directory}: left out: ${reason}`);
  }
  return opened.store;
}
