import { existsSync } from "node:fs";
import { installedKind, optionOf, requireRoot, type Wanted } from "./choice.ts";
import type { ServiceHost } from "./host.ts";
import { inspectHost } from "./inspect.ts";
import { until } from "./manager.ts";
import { managerOf } from "./managers.ts";
import { placesOf } from "./places.ts";
import { readRecord } from "./record.ts";
import type { ServiceReport } from "./types.ts";

export type ControlAction = "start" | "stop" | "restart";

export interface ControlOptions {
  action: ControlAction;
  wanted: Wanted | undefined;
  /** With `stop`: the running step is ended, not waited for. */
  now: boolean;
}

export interface ControlOutcome {
  action: ControlAction;
  /** False: it was so already. */
  changed: boolean;
  service: ServiceReport;
}

/** A started service shows itself; systemd waits for that, the others do not. */
const SHOWN_LIMIT_MS = 20_000;

/**
 * Starts, stops or restarts the installed service. What is so already stays: a start of one that runs
 * and a stop of one that does not are no trouble.
 */
export async function controlService(
  host: ServiceHost,
  options: ControlOptions,
): Promise<ControlOutcome> {
  const { action, now } = options;
  const kind = installedKind(host, options.wanted);
  requireRoot(host, kind, `${action} ${optionOf(kind)}`);
  const places = placesOf(kind, host);
  const manager = managerOf(kind, host, readRecord(places));
  const before = await inspectHost(host, kind);
  const held = kind === "cron" && existsSync(places.stopped);
  const want_running = action !== "stop";
  let changed = true;
  if (action === "restart") await manager.restart();
  else if (want_running) {
    changed = !before.running || held;
    if (changed) await manager.start();
  } else {
    changed = before.running;
    // Also where none runs: it may be about to be started again.
    await manager.stop(now);
  }
  const seen = async () => (await inspectHost(host, kind)).running === want_running;
  await until(seen, SHOWN_LIMIT_MS, host.clock);
  return { action, changed, service: await inspectHost(host, kind) };
}
