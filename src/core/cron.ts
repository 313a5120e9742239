import { Cron } from "croner";
import { errorMessage } from "./errors.ts";

/**
 * A cron pattern of five fields, in this machine's local time. A minute that the clock leaves out when
 * summer begins is made up for at the next one, where the hour is fixed; one that comes twice in
 * autumn counts once as a moment (`next`), and both times as a minute of a window (`covers`).
 */
export interface CronPattern {
  /** Whether the minute of that time is one of the pattern's. */
  covers(at_ms: number): boolean;
  /** The first moment after that time; null where there is none within the calendar. */
  next(after_ms: number): number | null;
}

export type CronReading = { ok: true; pattern: CronPattern } | { ok: false; message: string };

const MINUTE_MS = 60_000;

function inWords(error: unknown): string {
  const said = errorMessage(error).replace(/^CronPattern: /, "");
  const field = /^Invalid value for (\w+)/.exec(said)?.[1];
  if (field !== undefined) return `a value of its ${field} is out of range`;
  const range = /^From value is larger than to value: '(.+)'$/.exec(said)?.[1];
  if (range !== undefined) return `the range ${range} runs backwards; write it as two (20-23,0-6)`;
  return said;
}

/** Reads a pattern; says what is wrong with one that cannot be read or that no minute fits. */
export function readCron(text: string): CronReading {
  if (text.trim().split(/\s+/).length !== 5) {
    const fields = "minute, hour, day of the month, month, day of the week";
    return { ok: false, message: `"${text}" has not the five fields of a cron pattern: ${fields}` };
  }
  let cron: Cron;
  try {
    cron = new Cron(text.trim(), { paused: true, mode: "5-part" });
  } catch (error) {
    return { ok: false, message: `"${text}" is no cron pattern: ${inWords(error)}` };
  }
  // From a fixed day on: what a file says is right or wrong whatever day it is read on.
  if (cron.nextRun(new Date(0)) === null) {
    return { ok: false, message: `"${text}" fits no minute of any year` };
  }
  return {
    ok: true,
    pattern: {
      covers: (at_ms) => cron.match(new Date(Math.floor(at_ms / MINUTE_MS) * MINUTE_MS)),
      next: (after_ms) => cron.nextRun(new Date(after_ms))?.getTime() ?? null,
    },
  };
}

/** When the pattern allows to begin: that very time, or the next minute that fits. */
export function opensAt(pattern: CronPattern, now_ms: number): number | null {
  return pattern.covers(now_ms) ? now_ms : pattern.next(now_ms);
}
