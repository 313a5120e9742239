import type { Clock } from "../core/clock.ts";
import { NvidiaGpus } from "./gpu/nvidia.ts";
import { LinuxReader } from "./linux/reader.ts";
import { MacReader } from "./macos/reader.ts";
import { onPath } from "../core/on-path.ts";
import { unknown, type HostReader, type HostReadings, type Reading } from "./reading.ts";
import type { HostSample } from "./sample.ts";

export interface HostSampler {
  /** Resolves when all helpers have spoken or failed, at the latest after `limit_ms`. */
  ready(limit_ms: number): Promise<void>;
  /** One look at the host, at once: helpers run beside us, files are read here. Never throws. */
  sample(): HostSample;
  /** Ends the helpers. */
  close(): void;
}

export interface HostSamplerOptions {
  /** Root of the runner's process tree; null where it is not known or not on this host. */
  server_pid: number | null;
  clock: Clock;
  platform?: NodeJS.Platform;
  /** Where /proc and /sys are; "/" but in tests. */
  root?: string;
  /** Variables for the helpers, PATH above all. */
  env?: Record<string, string>;
}

function unsupported(platform: string): HostReader {
  const none = unknown(`${platform} is not known here`);
  const readings: HostReadings = {
    used_mb: none,
    available_mb: none,
    wired_mb: none,
    swap_used_mb: none,
    swapped_out_mb: none,
    server_rss_mb: none,
    pressure: none,
    throttled: none,
    cpu_pct: none,
    gpu_used_mb: none,
    power_source: none,
  };
  return { ready: async () => {}, read: () => readings, close: () => {} };
}

function hostReader(options: HostSamplerOptions): HostReader {
  const { server_pid, clock, root = "/" } = options;
  const platform = options.platform ?? process.platform;
  const env = options.env === undefined ? {} : { env: options.env };
  if (platform === "darwin") return new MacReader({ server_pid, clock, ...env });
  if (platform !== "linux") return unsupported(platform);
  const path = options.env?.["PATH"] ?? process.env["PATH"] ?? "";
  const nvidia = onPath("nvidia-smi", path) ? new NvidiaGpus(clock, options.env) : undefined;
  return new LinuxReader({ server_pid, clock, root, nvidia });
}

/** Field of the sample by reading. */
const FIELDS = {
  used_mb: "sys_used_mb",
  available_mb: "sys_available_mb",
  wired_mb: "sys_wired_mb",
  swap_used_mb: "swap_used_mb",
  swapped_out_mb: "swapped_out_mb",
  server_rss_mb: "server_rss_mb",
  pressure: "mem_pressure_level",
  throttled: "throttled",
  cpu_pct: "cpu_pct",
  gpu_used_mb: "gpu_used_mb",
  power_source: "power_source",
} as const satisfies Record<keyof HostReadings, keyof HostSample>;

function toSample(readings: HostReadings, ts: number): HostSample {
  const unavailable: Record<string, string> = {};
  for (const [name, field] of Object.entries(FIELDS)) {
    const reading: Reading<unknown> = readings[name as keyof HostReadings];
    if (reading.reason !== null) unavailable[field] = reading.reason;
  }
  return {
    ts,
    sys_used_mb: readings.used_mb.value,
    sys_available_mb: readings.available_mb.value,
    sys_wired_mb: readings.wired_mb.value,
    swap_used_mb: readings.swap_used_mb.value,
    swapped_out_mb: readings.swapped_out_mb.value,
    server_rss_mb: readings.server_rss_mb.value,
    mem_pressure_level: readings.pressure.value,
    throttled: readings.throttled.value,
    cpu_pct: readings.cpu_pct.value,
    gpu_used_mb: readings.gpu_used_mb.value,
    power_source: readings.power_source.value,
    unavailable,
  };
}

/** The sampler for this host. A reading that fails is null in its samples, with the reason. */
export function createHostSampler(options: HostSamplerOptions): HostSampler {
  const reader = hostReader(options);
  return {
    ready: (limit_ms) => reader.ready(limit_ms),
    sample: () => toSample(reader.read(), options.clock.now_ms() / 1000),
    close: () => reader.close(),
  };
}
