import { printable } from "../core/text.ts";
import { doingText } from "./idle/snapshot.ts";
import type { RunningSnapshot } from "./snapshot.ts";
import type { StationStatus } from "./status.ts";

function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function ago(iso: string, now_ms: number): string {
  return duration((now_ms - Date.parse(iso)) / 1000);
}

function runningText(running: RunningSnapshot, now_ms: number): string[] {
  const { step, step_since, progress, left_s } = running;
  const lines = [
    `running: ${running.model_id} (entry ${running.index + 1}, job ${running.job_id}) for ${ago(running.since, now_ms)}`,
  ];
  if (step === null || step_since === null) return lines;
  let text = `  ${step} for ${ago(step_since, now_ms)}`;
  if (progress !== null && progress.total !== null) {
    text += `: ${progress.done} of ${progress.total} cells`;
    if (progress.failed > 0) text += `, ${progress.failed} failed`;
  }
  if (left_s !== null) text += `, ${duration(left_s.low)} to ${duration(left_s.high)} left`;
  return [...lines, text];
}

function whenTaken({ ripe, stuck }: StationStatus["inbox"][number], now_ms: number): string {
  if (stuck !== null) return stuck;
  if (ripe === null) return "waits for a daemon";
  const left_ms = Date.parse(ripe) - now_ms;
  return left_ms > 0 ? `at rest in ${duration(left_ms / 1000)}` : "about to be taken up";
}

/** Below so many characters two texts may hold each other by chance. */
const SAME_FROM = 12;

/** Whether the first line has said it already, with more or with fewer words around it. */
function isSaid({ wrong }: StationStatus, text: string): boolean {
  if (wrong === null || Math.min(text.length, wrong.length) < SAME_FROM) return false;
  return wrong.includes(text) || text.includes(wrong);
}

/**
 * `status` for a person: what is wrong, if anything is; why nothing runs, or what does; then counts
 * and the inbox.
 */
export function statusText(status: StationStatus, now_ms: number): string {
  const { daemon, running, counts, inbox, evidence_waiting: evidence } = status;
  const once = (text: string): string => (isSaid(status, text) ? "see above" : text);
  const lines: string[] = status.wrong === null ? [] : [`WRONG: ${status.wrong}`];
  if (running !== null) lines.push(...runningText(running, now_ms));
  else if (status.idle_work !== null) lines.push(doingText(status.idle_work, duration));
  else {
    const nothing = status.orphan === null || daemon.mute != null ? "nothing runs" : "no daemon";
    lines.push(`${nothing}: ${once(status.why_idle ?? "it is about to start")}`);
  }
  for (const { model, why } of status.measurements_wait) {
    lines.push(`not measuring slots of ${printable(model ?? "?")}: ${once(printable(why))}`);
  }
  if (status.store_trouble !== null) lines.push(`store: ${once(status.store_trouble)}`);
  if (counts !== null) {
    const shown = Object.entries(counts).filter(([, n]) => n > 0);
    const text = shown.map(([state, n]) => `${n} ${state.toLowerCase().replace("_", " ")}`);
    lines.push(`jobs: ${text.length === 0 ? "none" : text.join(", ")}`);
  }
  for (const file of inbox)
    lines.push(`inbox: ${printable(file.name)}: ${whenTaken(file, now_ms)}`);
  if (status.inbox_blocked !== null) lines.push(`inbox: ${once(status.inbox_blocked)}`);
  for (const { name, next, trouble } of status.schedule) {
    const why = trouble === null ? "" : `, but now: ${printable(trouble)}`;
    lines.push(`schedule: ${name}: ${next ?? "never again"}${why}`);
  }
  if (evidence !== null) {
    const why = evidence.reason === null ? "" : `: ${evidence.reason}`;
    lines.push(
      `evidence: ${evidence.waiting} not committed yet${why} (touchstoned evidence commit)`,
    );
  }
  if (daemon.running) {
    const since = daemon.since === null ? "" : `, for ${ago(daemon.since, now_ms)}`;
    lines.push(`daemon: pid ${daemon.pid ?? "?"}${since}${daemon.stopping ? ", stopping" : ""}`);
  }
  const more = status.warnings.filter(({ text }) => !isSaid(status, text));
  for (const { at, text } of more.slice(-3)) lines.push(`warning (${at}): ${text}`);
  return lines.join("\n");
}
