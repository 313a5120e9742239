import { errorMessage, systemErrorCode } from "../core/errors.ts";

/** One reading: a value, or the reason why there is none. Unknown is never taken for healthy. */
export type Reading<T> = { value: T; reason: null } | { value: null; reason: string };

export function known<T>(value: T): Reading<T> {
  return { value, reason: null };
}

export function unknown(reason: string): { value: null; reason: string } {
  return { value: null, reason };
}

/** Runs a reader that may throw. The error's code and path are reason enough, its stack is not. */
export function attempt<T>(read: () => Reading<T>): Reading<T> {
  try {
    return read();
  } catch (error) {
    return unknown(failureText(error));
  }
}

export function failureText(error: unknown): string {
  const code = systemErrorCode(error);
  if (code === undefined) return errorMessage(error);
  const path = error instanceof Error && "path" in error ? ` ${String(error.path)}` : "";
  return `${code}${path}`;
}

/** Bytes to megabytes of 10^6 bytes, to the kilobyte. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1000) / 1000;
}

/** Readings of every kind that a host may give, each with its own reason where it is missing. */
export interface HostReadings {
  used_mb: Reading<number>;
  available_mb: Reading<number>;
  wired_mb: Reading<number>;
  swap_used_mb: Reading<number>;
  swapped_out_mb: Reading<number>;
  server_rss_mb: Reading<number>;
  pressure: Reading<"normal" | "warn" | "critical">;
  throttled: Reading<boolean>;
  cpu_pct: Reading<number>;
  gpu_used_mb: Reading<number>;
  power_source: Reading<"ac" | "battery">;
}

/** What one operating system offers; `HostSampler` makes samples of it. */
export interface HostReader {
  /** Resolves when every source has spoken or failed, at the latest after `limit_ms`. */
  ready(limit_ms: number): Promise<void>;
  read(): HostReadings;
  close(): void;
}
