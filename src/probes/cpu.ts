import { known, unknown, type Reading } from "./reading.ts";

/** Time that the cores together have spent since boot, any unit. */
export interface CpuTimes {
  busy: number;
  total: number;
}

/** The first line of `/proc/stat`. Waiting for a disk is idle; guests are in `user` already. */
export function parseCpuLine(text: string): CpuTimes | undefined {
  const line = text.slice(0, text.indexOf("\n"));
  const [name, ...fields] = line.split(/\s+/);
  if (name !== "cpu" || fields.length < 4) return undefined;
  const times = fields.slice(0, 8).map(Number);
  const total = times.reduce((sum, ticks) => sum + ticks, 0);
  const idle = (times[3] ?? 0) + (times[4] ?? 0);
  return { busy: total - idle, total };
}

/** Turns running totals into the share since the last look. */
export class CpuShare {
  #last: CpuTimes | undefined;

  next(now: CpuTimes): Reading<number> {
    const last = this.#last;
    this.#last = now;
    if (last === undefined) return unknown("the first sample has nothing to compare with");
    const total = now.total - last.total;
    if (total <= 0) return unknown("no time has passed since the last sample");
    const share = Math.min(1, Math.max(0, (now.busy - last.busy) / total));
    return known(Math.round(share * 1000) / 10);
  }
}
