import { known, unknown, type Reading } from "../reading.ts";
import type { PressureLevel } from "../sample.ts";

/**
 * `some`: the share of the last 10 s in which at least one task waited for memory. Healthy hosts
 * stand at 0 and blips of a few percent come with every large file that is read; from a tenth of
 * the time on, latencies that are measured meanwhile are not the model's any more.
 */
const WARN_SOME_PCT = 10;

/**
 * `full`: the share in which no task at all got on for want of memory. A tenth of the time standing
 * still is thrashing; services that kill on pressure act in this region too.
 */
const CRITICAL_FULL_PCT = 10;

export interface PressureStall {
  some_avg10_pct: number | null;
  full_avg10_pct: number | null;
}

function average(text: string, kind: string): number | null {
  const found = new RegExp(`^${kind} avg10=([\\d.]+)`, "m").exec(text);
  return found === null ? null : Number(found[1]);
}

/** Parses `/proc/pressure/memory` or a cgroup's `memory.pressure`. */
export function parsePressure(text: string): PressureStall {
  return { some_avg10_pct: average(text, "some"), full_avg10_pct: average(text, "full") };
}

/** Microseconds since boot in which some task stood still for want of memory; null where not told. */
export function stalledUs(text: string): number | null {
  const found = /^some .*\btotal=(\d+)/m.exec(text);
  return found === null ? null : Number(found[1]);
}

/** Share of the last minute in which some task waited for memory, 0 to 1; null where not told. */
export function shareOfMinute(text: string): number | null {
  const found = /^some .*\bavg60=([\d.]+)/m.exec(text);
  return found === null ? null : Number(found[1]) / 100;
}

export function pressureLevel(stall: PressureStall): Reading<PressureLevel> {
  if (stall.some_avg10_pct === null || stall.full_avg10_pct === null) {
    return unknown("pressure stall information without avg10");
  }
  if (stall.full_avg10_pct >= CRITICAL_FULL_PCT) return known("critical");
  return known(stall.some_avg10_pct >= WARN_SOME_PCT ? "warn" : "normal");
}

const ORDER: readonly PressureLevel[] = ["normal", "warn", "critical"];

/** The worse of two levels. */
export function worse(a: PressureLevel, b: PressureLevel): PressureLevel {
  return ORDER.indexOf(a) >= ORDER.indexOf(b) ? a : b;
}
