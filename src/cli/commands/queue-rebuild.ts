import { existsSync } from "node:fs";
import { EXIT } from "../../core/errors.ts";
import { rebuildStore, rebuildText, takeDaemonLock, wasHeld } from "../../daemon/index.ts";
import { requireRuns } from "../../station/index.ts";
import { openSqliteStore, setAside } from "../../store/index.ts";
import type { CommandAction } from "../context.ts";
import { commandSetting, type StationOptions } from "../queue-store.ts";

export const run: CommandAction<StationOptions> = async (options, context) => {
  const { terminal, clock, signal } = context;
  const setting = await commandSetting(options, context);
  const { files, station } = setting;
  requireRuns(station);
  const lock = await takeDaemonLock(setting, "queue rebuild", signal);
  try {
    const now_ms = clock.now_ms();
    const old = existsSync(files.store) ? setAside(files.store, now_ms, "replaced") : null;
    const { store } = await openSqliteStore({ path: files.store, now_ms, role: "owner" });
    try {
      const report = await rebuildStore({
        ...setting,
        store,
        runs_dir: station.runs_dir,
        held: wasHeld(files),
      });
      if (options.json === true) terminal.json({ store: files.store, set_aside: old, ...report });
      else {
        if (old !== null) terminal.out(`the old store is kept as ${old}`);
        terminal.out(rebuildText(report));
        for (const { directory, reason } of report.left_out) {
          terminal.out(`left out: ${directory}: ${reason}`);
        }
      }
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
  return EXIT.done;
};
