import { existsSync } from "node:fs";
import { runCommand } from "../../../core/process.ts";
import { parseJsonLenient } from "../../../core/json.ts";
import { toolEnv, type Env } from "../../../station/index.ts";
import { failure, ok, span, warning, type Line } from "../line.ts";

export interface ClockInput {
  now_ms: number;
  /** When something of ours was written last, by what it says of itself. */
  seen: readonly { what: string; at_ms: number }[];
  /** Whether a time service keeps the clock; null where nobody says. */
  synchronized: boolean | null;
  /** When it was set by a leap lately, as the daemon noticed: its words. */
  steps: readonly { at_ms: number; text: string }[];
}

/** Before this program was there, no clock is right. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);
const LATEST_MS = Date.UTC(2100, 0, 1);
/** Clocks are corrected by a little all the time. */
const SLACK_MS = 5 * 60_000;

export function clockLines({ now_ms, seen, synchronized, steps }: ClockInput): Line[] {
  const shown = new Date(now_ms).toISOString();
  const mend = "Set the clock (timedatectl set-ntp true; macOS: System Settings, Date & Time).";
  if (now_ms < EARLIEST_MS || now_ms > LATEST_MS) {
    return [
      failure(`the clock says ${shown}: evidence would count as stale, and jobs as not due`, mend),
    ];
  }
  const lines: Line[] = [];
  const later = seen.filter(({ at_ms }) => at_ms > now_ms + SLACK_MS);
  const [latest] = later.sort((a, b) => b.at_ms - a.at_ms);
  if (latest !== undefined) {
    lines.push(
      failure(
        `the clock says ${shown}, and ${latest.what} is ${span(latest.at_ms - now_ms)} later: it was set back, or was wrong then`,
        `${mend} Until then is reached, ages cannot be told.`,
      ),
    );
  }
  if (synchronized === false) {
    lines.push(warning("no time service keeps the clock", mend));
  }
  const last = steps.at(-1);
  if (last !== undefined) {
    lines.push(
      warning(
        `${last.text}, ${span(now_ms - last.at_ms)} ago (${steps.length === 1 ? "once" : `${steps.length} times`} in a week)`,
        "One leap is nothing; more of them mean that nobody keeps the clock, or that two programs do.",
      ),
    );
  }
  if (lines.length > 0) return lines;
  return [ok(`${shown}${synchronized === true ? ", kept by a time service" : ""}`)];
}

/** Where systemd-timesyncd says that it has reached a server. */
const TIMESYNC_MARK = "/run/systemd/timesync/synchronized";

/** Whether somebody keeps the clock; null where that cannot be told cheaply. */
export async function clockSynchronized(
  platform: NodeJS.Platform,
  env: Env,
): Promise<boolean | null> {
  if (platform !== "linux") return null;
  if (existsSync(TIMESYNC_MARK)) return true;
  const run = await runCommand("timedatectl", ["show", "-p", "NTPSynchronized", "--value"], {
    timeout_s: 5,
    env: toolEnv(env),
    inherit_env: false,
  });
  if (!run.ok) return null;
  const answer = run.stdout.trim();
  return answer === "yes" ? true : answer === "no" ? false : null;
}

const WEEK_MS = 7 * 86_400_000;

/** The leaps of the clock in the last week that stand in a daemon's log (JSON lines). */
export function clockSteps(log: string, now_ms: number): ClockInput["steps"] {
  const steps: { at_ms: number; text: string }[] = [];
  for (const line of log.split("\n")) {
    // Most lines are about something else, and to parse them all would take a while.
    if (!/clock set (?:back|forward)/.test(line)) continue;
    // Undefined for one that is cut at the beginning of what was read.
    const value = parseJsonLenient(line) as { time?: unknown; msg?: unknown } | null | undefined;
    const { time, msg } = value ?? {};
    const at_ms = Date.parse(String(time));
    if (typeof msg === "string" && now_ms - at_ms < WEEK_MS) steps.push({ at_ms, text: msg });
  }
  return steps;
}
