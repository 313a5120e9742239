import { known, megabytes, unknown, type Reading } from "../reading.ts";

/** Of `/proc/meminfo`, in bytes; null where the kernel does not tell. */
export interface MemInfo {
  total_bytes: number | null;
  free_bytes: number | null;
  /** Since kernel 3.14. What could be given out without swapping, by the kernel's own estimate. */
  available_bytes: number | null;
  /** Locked, or otherwise never swapped out. */
  unevictable_bytes: number | null;
  swap_total_bytes: number | null;
  swap_free_bytes: number | null;
}

/** The number behind a name of `/proc/meminfo`: kilobytes of 1024 bytes, mostly. */
export function meminfoNumber(text: string, name: string): number | null {
  // Searched, not split: this runs twice a second, and five of fifty lines are wanted.
  const key = `${name}:`;
  let at = text.startsWith(key) ? 0 : text.indexOf(`\n${key}`);
  if (at < 0) return null;
  if (at > 0) at += 1;
  const value = Number.parseInt(text.slice(at + key.length, at + key.length + 24), 10);
  return Number.isNaN(value) ? null : value;
}

function kilobytes(text: string, name: string): number | null {
  const value = meminfoNumber(text, name);
  return value === null ? null : value * 1024;
}

/** Parses `/proc/meminfo`, also the old layout with a table of bytes above the `kB` lines. */
export function parseMemInfo(text: string): MemInfo {
  return {
    total_bytes: kilobytes(text, "MemTotal"),
    free_bytes: kilobytes(text, "MemFree"),
    available_bytes: kilobytes(text, "MemAvailable"),
    unevictable_bytes: kilobytes(text, "Unevictable"),
    swap_total_bytes: kilobytes(text, "SwapTotal"),
    swap_free_bytes: kilobytes(text, "SwapFree"),
  };
}

export interface MemoryReadings {
  used_mb: Reading<number>;
  available_mb: Reading<number>;
}

/**
 * Used memory of the host: `MemTotal - MemAvailable`. Page cache counts as available, so weights
 * that a runner maps from a file show in its resident memory (`server_rss_mb`) and not here.
 */
export function hostMemory(info: MemInfo): MemoryReadings {
  if (info.total_bytes === null) return both(unknown("/proc/meminfo has no MemTotal"));
  if (info.available_bytes === null) {
    return both(unknown("/proc/meminfo has no MemAvailable (kernel before 3.14)"));
  }
  return {
    used_mb: known(megabytes(info.total_bytes - info.available_bytes)),
    available_mb: known(megabytes(info.available_bytes)),
  };
}

export function both(reading: Reading<number>): MemoryReadings {
  return { used_mb: reading, available_mb: reading };
}

export function wired(info: MemInfo): Reading<number> {
  if (info.unevictable_bytes === null) return unknown("/proc/meminfo has no Unevictable");
  return known(megabytes(info.unevictable_bytes));
}

export function swapUsed(info: MemInfo): Reading<number> {
  if (info.swap_total_bytes === null || info.swap_free_bytes === null) {
    return unknown("/proc/meminfo has no SwapTotal or SwapFree");
  }
  return known(megabytes(info.swap_total_bytes - info.swap_free_bytes));
}

/** The value of `name` in a file of `name value` lines (`/proc/vmstat`, `memory.stat`). */
export function counter(text: string, name: string): number | null {
  const key = `${name} `;
  let at = text.startsWith(key) ? 0 : text.indexOf(`\n${key}`);
  if (at < 0) return null;
  if (at > 0) at += 1;
  const value = Number.parseInt(text.slice(at + key.length, at + key.length + 24), 10);
  return Number.isNaN(value) ? null : value;
}
