import { known, unknown, type Reading } from "../reading.ts";
import type { PressureLevel } from "../sample.ts";

/** Parses `name: value` lines of `sysctl`. */
export function parseSysctl(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const found of text.matchAll(/^([A-Za-z_][\w.]*): (.*)$/gm)) {
    const [, name, value] = found;
    if (name !== undefined && value !== undefined) values.set(name, value.trim());
  }
  return values;
}

/** When the system was started, seconds since the epoch, from `sysctl kern.boottime`. */
export function bootTime(values: ReadonlyMap<string, string>): number | null {
  // The date behind it is local time without a zone.
  const found = /sec = (\d+), usec = (\d+)/.exec(values.get("kern.boottime") ?? "");
  return found === null ? null : Number(found[1]) + Number(found[2]) / 1e6;
}

export interface SwapUsage {
  /** No constant of the machine: the swap files come and go. */
  total_bytes: number;
  used_bytes: number;
  free_bytes: number;
  encrypted: boolean;
}

const UNIT: Record<string, number> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

function amount(text: string, name: string): number | undefined {
  const found = new RegExp(`\\b${name} = ([\\d.]+)([KMGT])`).exec(text);
  const unit = UNIT[found?.[2] ?? ""];
  return found === null || unit === undefined ? undefined : Math.round(Number(found[1]) * unit);
}

/** Parses `sysctl vm.swapusage`; undefined where an amount is missing. */
export function parseSwapUsage(text: string): SwapUsage | undefined {
  const total_bytes = amount(text, "total");
  const used_bytes = amount(text, "used");
  const free_bytes = amount(text, "free");
  if (total_bytes === undefined || used_bytes === undefined || free_bytes === undefined) {
    return undefined;
  }
  return { total_bytes, used_bytes, free_bytes, encrypted: text.includes("(encrypted)") };
}

interface MemoryPressure {
  total_bytes: number | null;
  page_bytes: number | null;
  free_percent: number | null;
  /** Pages and events by label: `Pages free`, `Swapouts` ...; empty with `-Q`. */
  counts: ReadonlyMap<string, number>;
}

/** Parses `memory_pressure`, with or without `-Q`. */
export function parseMemoryPressure(text: string): MemoryPressure {
  const number = (pattern: RegExp): number | null => {
    const found = pattern.exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  const counts = [...text.matchAll(/^([A-Z][A-Za-z ]+): (\d+) *$/gm)];
  return {
    counts: new Map(counts.map(([, label = "", count]) => [label, Number(count)])),
    total_bytes: number(/^The system has (\d+) /m),
    page_bytes: number(/page size of (\d+)\)/),
    free_percent: number(/free percentage: (\d+)%/),
  };
}

/** What the kernel calls its own levels. */
const KERNEL_LEVEL: Record<string, PressureLevel> = { "1": "normal", "2": "warn", "4": "critical" };

/** Below these free percentages macOS begins to ask applications for memory, then to end them. */
const WARN_FREE_PCT = 30;
const CRITICAL_FREE_PCT = 10;

/** The kernel's own level where it is told, else by the free percentage of `memory_pressure -Q`. */
export function macPressure(text: string): Reading<PressureLevel> {
  const kernel = parseSysctl(text).get("kern.memorystatus_vm_pressure_level");
  if (kernel !== undefined) {
    const level = KERNEL_LEVEL[kernel];
    return level === undefined ? unknown(`pressure level ${kernel} is not known`) : known(level);
  }
  const { free_percent } = parseMemoryPressure(text);
  if (free_percent === null) return unknown("neither sysctl nor memory_pressure told the pressure");
  if (free_percent < CRITICAL_FREE_PCT) return known("critical");
  return known(free_percent < WARN_FREE_PCT ? "warn" : "normal");
}
