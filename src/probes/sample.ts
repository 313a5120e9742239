export type PressureLevel = "normal" | "warn" | "critical";

/**
 * One look at the host: one line of `resources.jsonl` less the fields that name the invocation. A
 * reading that failed is null and `unavailable` says why, by field name. Megabytes are 10^6 bytes.
 */
export interface HostSample {
  /** Wall clock, seconds since the epoch, with a fraction. */
  ts: number;
  sys_used_mb: number | null;
  sys_available_mb: number | null;
  swap_used_mb: number | null;
  /** Resident memory of the runner's process tree. */
  server_rss_mb: number | null;
  mem_pressure_level: PressureLevel | null;
  throttled: boolean | null;
  /** Of all cores together, since the last sample; null in the first. */
  cpu_pct: number | null;
  /** Sum over the GPUs that have memory of their own; null where there is none or it is not told. */
  gpu_used_mb: number | null;
  unavailable: Record<string, string>;
}

/** A line of `resources.jsonl`. */
export interface ResourceTick extends HostSample {
  /** True on the lines that make the baseline of their invocation. */
  baseline: boolean;
  /** ULID of the run of the sampler that wrote the line. */
  invocation: string;
}

export interface PowerReading {
  source: "ac" | "battery" | null;
  reason: string | null;
}

/** What this machine is, for reports. Nothing that names a person or the host. */
export interface HostIdentity {
  os: string | null;
  chip: string | null;
  cores: number | null;
  ram_gb: number | null;
  gpus: string[] | null;
  node: string;
}
