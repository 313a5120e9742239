import { printable } from "../core/text.ts";
import type { DaemonSnapshot } from "./snapshot.ts";
import type { MuteDaemon, StationStatus } from "./status.ts";

/** The daemon looks around once a minute; one that was silent for so long hangs. */
export const SILENT_MS = 10 * 60_000;
/** Whether it is installed is not looked at here: both ways are named. */
export const HOW_TO_START = "touchstoned start where it is installed, else touchstoned daemon";

type Known = Omit<StationStatus, "wrong">;
type Live = Pick<DaemonSnapshot, "updated" | "barred">;

function waitingText({ counts, inbox: all }: Known): string | null {
  const jobs = counts?.PENDING ?? 0;
  // What no daemon would take up waits for no daemon.
  const inbox = all.filter(({ stuck }) => stuck === null);
  const parts = [
    jobs === 0 ? null : jobs === 1 ? "1 job" : `${jobs} jobs`,
    inbox.length === 0 ? null : inbox.length === 1 ? "1 file" : `${inbox.length} files`,
  ].filter((part) => part !== null);
  if (parts.length === 0) return null;
  return `${parts.join(" and ")} ${jobs + inbox.length === 1 ? "waits" : "wait"}`;
}

function neverRuns({ blocked }: Known): string | null {
  const { other_runner = 0, too_big = 0 } = blocked ?? {};
  const [n, why] =
    other_runner > 0
      ? [other_runner, "machine.yaml does not declare the runner (touchstoned runner list)"]
      : [too_big, "this machine has too little memory for the model (touchstoned queue list)"];
  if (n === 0) return null;
  return `${n === 1 ? "1 job" : `${n} jobs`} cannot run here: ${why}`;
}

/** Of a daemon that holds the station's lock and whose snapshot is not there. */
export function muteText({ pid, begins }: MuteDaemon): string {
  return begins
    ? `a daemon (pid ${pid}) is about to begin`
    : `a daemon (pid ${pid}) holds the station's lock and has not said what it does: is the disk full?`;
}

function withoutDaemon(status: Known): string | null {
  const { mute } = status.daemon;
  if (mute != null) return muteText(mute);
  if (status.orphan !== null)
    return "no daemon runs, and the step that it began runs on without it";
  const waiting = waitingText(status);
  return waiting === null ? null : `no daemon runs, and ${waiting} (${HOW_TO_START})`;
}

function daemonTrouble({ updated, barred }: Live, now_ms: number): string | null {
  const silent_ms = now_ms - Date.parse(updated);
  if (silent_ms > SILENT_MS) {
    return `the daemon has not moved for ${Math.round(silent_ms / 60_000)} min (touchstoned doctor)`;
  }
  return barred;
}

/**
 * What a person has to see to, in one line, the worst first; null while everything goes on by itself:
 * a held queue, a job that waits or a lock of somebody else's is no trouble.
 */
export function whatIsWrong(status: Known, live: Live | null, now_ms: number): string | null {
  const { store_trouble, inbox_blocked, evidence_waiting: evidence } = status;
  if (store_trouble !== null) return `${store_trouble} (touchstoned doctor)`;
  // What it can run, it has not said yet.
  if (status.daemon.mute?.begins === true) return null;
  const engine = live === null ? withoutDaemon(status) : daemonTrouble(live, now_ms);
  if (engine !== null) return engine;
  if (inbox_blocked !== null) return `nothing is taken up: ${inbox_blocked}`;
  const stuck = status.inbox.find((file) => file.stuck !== null);
  if (stuck !== undefined) return `${printable(stuck.name)} is not taken up: ${stuck.stuck ?? ""}`;
  const never = neverRuns(status);
  if (never !== null) return never;
  if (evidence?.reason == null) return null;
  return `evidence cannot be committed: ${evidence.reason} (touchstoned evidence commit)`;
}
