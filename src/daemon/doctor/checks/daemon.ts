import type { DaemonSnapshot } from "../../snapshot.ts";
import type { StationStatus } from "../../status.ts";
import { HOW_TO_START, muteText, SILENT_MS } from "../../status-wrong.ts";
import { counted, failure, ok, span, warning, type Line } from "../line.ts";

export interface DaemonInput {
  status: StationStatus;
  /** What the last daemon said of itself, dead or alive. */
  snapshot: DaemonSnapshot | undefined;
  now_ms: number;
}

const SHOWN_WARNINGS = 3;
/** Older warnings were read, or never will be. */
const WARNING_MS = 24 * 3_600_000;

function absentLine({ status, snapshot }: DaemonInput): Line {
  const { mute } = status.daemon;
  if (mute != null) {
    return mute.begins
      ? warning(muteText(mute), "Look again in a minute.")
      : failure(
          muteText(mute),
          `Make room on the disk of ${status.state_dir}; else end it (kill ${mute.pid}) and start it again.`,
        );
  }
  const waiting =
    (status.counts?.PENDING ?? 0) + status.inbox.filter(({ stuck }) => stuck === null).length;
  const last = snapshot === undefined ? "" : `; the last one began ${snapshot.started}`;
  const orphan =
    status.orphan === null
      ? ""
      : `; the ${status.orphan.step} of job ${status.orphan.job_id} runs on without it (pid ${status.orphan.pid})`;
  const todo = `Start it: ${HOW_TO_START}.`;
  const text = `no daemon runs this station${last}${orphan}`;
  if (waiting === 0 && status.orphan === null) return warning(text, todo);
  return failure(
    waiting === 0
      ? text
      : `${text}; ${counted(waiting, "job or file waits", "jobs and files wait")}`,
    todo,
  );
}

/** Whether a daemon runs and moves, and what it complained of lately. */
export function daemonLines(input: DaemonInput): Line[] {
  const { status, snapshot, now_ms } = input;
  if (!status.daemon.running || snapshot === undefined) return [absentLine(input)];
  const { pid } = status.daemon;
  const lines: Line[] = [];
  const silent_ms = now_ms - Date.parse(snapshot.updated);
  if (silent_ms > SILENT_MS) {
    lines.push(
      failure(
        `the daemon (pid ${pid ?? "?"}) has not moved for ${span(silent_ms)}`,
        `Look again in a minute, in case this machine was asleep. Else end it: kill ${pid ?? ""} (the next one goes on where it was).`,
      ),
    );
  }
  const { why_idle } = status;
  if (status.daemon.stopping) lines.push(warning("the daemon is stopping", "Wait for it."));
  else if (lines.length === 0) {
    lines.push(
      ok(
        `the daemon runs (pid ${pid ?? "?"})${why_idle === null ? ", and so does a job" : `: ${why_idle}`}`,
      ),
    );
  }
  const recent = status.warnings.filter(({ at }) => now_ms - Date.parse(at) < WARNING_MS);
  for (const { at, text } of recent.slice(-SHOWN_WARNINGS)) {
    lines.push(
      warning(`the daemon said at ${at}: ${text}`, "touchstoned status shows it until it is over."),
    );
  }
  return lines;
}
