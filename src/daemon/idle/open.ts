import { readdirSync } from "node:fs";
import { join } from "node:path";
import { adoptTree } from "../../core/process.ts";
import { openRequests, outboxNames, requestAskedMs } from "../../evidence/resident.ts";
import type { Base } from "../base.ts";
import type { Configuration } from "../configuration.ts";
import { wasHeld } from "../files.ts";
import type { Report } from "../report.ts";
import type { DeviceNow, IdleRequest } from "./decide.ts";
import { loadHistory, saveHistory } from "./history-file.ts";
import { IdleWork } from "./idle-work.ts";
import { windowAt } from "./window.ts";

/** Seconds between SIGTERM and SIGKILL for a calibration that an earlier daemon left. */
const GRACE_S = 10;

function requestsOf(state_dir: string): IdleRequest[] {
  return openRequests(state_dir).map(({ key, runner, model, reason }) => {
    return { key, runner, model, reason, asked_ms: requestAskedMs(state_dir, key) };
  });
}

function hasFiles(directory: string): boolean {
  try {
    return readdirSync(directory).length > 0;
  } catch {
    return false; // nothing was ever measured
  }
}

async function deviceNow(): Promise<DeviceNow> {
  const { readIdleness } = await import("../../probes/resident.ts");
  const { load, pressure, power } = await readIdleness();
  return { load: load.value, pressure: pressure.value, power: power.value };
}

/** The idle hours of a real station on this machine. */
export function openIdleWork(around: {
  base: Base;
  configuration: Pick<Configuration, "mark">;
  report: Pick<Report, "say" | "warn" | "idle">;
  hard: AbortSignal;
}): IdleWork {
  const { base, configuration, report, hard } = around;
  const { station, files, clock, new_id } = base;
  const { root, state_dir } = station;
  return new IdleWork({
    clock,
    report,
    hard,
    history: {
      load: () => loadHistory(files.idle),
      save: (history) => saveHistory(files.idle, history),
    },
    settings: () => ({
      policy: station.settings.calibration,
      runners: station.machine.runners.map(({ name }) => name),
      configuration: configuration.mark,
      commits: station.settings.evidence.commit !== "off",
    }),
    requests: () => requestsOf(state_dir),
    evidence: () => ({
      outbox: outboxNames(state_dir).length,
      any: hasFiles(join(state_dir, "evidence")),
    }),
    device: deviceNow,
    window: windowAt,
    hindrance: () => (wasHeld(files) ? "the queue is held (touchstoned queue release)" : null),
    async start() {
      const { childStarter } = await import("./child.ts");
      return childStarter({ root, clock, new_id });
    },
    async housekeep() {
      const { housekeepInChild } = await import("./child.ts");
      return housekeepInChild(root);
    },
    endOrphan: async (tree) => void (await adoptTree(tree, clock).end(GRACE_S)),
  });
}
