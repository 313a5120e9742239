// `calibration.window`: a cron pattern by the local clock, read where one is set and not before.
import type { CronPattern } from "../../core/cron.ts";

export interface Window {
  /** Whether this minute is one of the pattern's. */
  open: boolean;
  /** The first minute after this one that is; null where there is none any more. */
  next_ms: number | null;
}

const read = new Map<string, CronPattern>();

async function patternOf(text: string): Promise<CronPattern> {
  const known = read.get(text);
  if (known !== undefined) return known;
  const { readCron } = await import("../../core/cron.ts");
  const reading = readCron(text);
  if (!reading.ok) throw new RangeError(`calibration.window: ${reading.message}`);
  // It changes with the configuration alone.
  read.clear();
  read.set(text, reading.pattern);
  return reading.pattern;
}

/** No pattern: always open. Throws where the text is none, which no checked configuration has. */
export async function windowAt(text: string | undefined, now_ms: number): Promise<Window> {
  if (text === undefined) return { open: true, next_ms: now_ms };
  const pattern = await patternOf(text);
  return { open: pattern.covers(now_ms), next_ms: pattern.next(now_ms) };
}
