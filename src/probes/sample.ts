export type PressureLevel = "normal" | "warn" | "critical";

/**
 * One look at the host: one line of `resources.jsonl` less the fields that name the invocation. A
 * reading that failed is null and `unavailable` says why, by field name. Megabytes are 10^6 bytes.
 */
export interface HostSample {
  /** Wall clock, seconds since the epoch, with a fraction. */
  ts: number;
  /**
   * Linux: MemTotal - MemAvailable, or the working set inside a cgroup limit that is lower than the
   * machine's memory. macOS: application, wired and compressed memory, as Activity Monitor counts.
   */
  sys_used_mb: number | null;
  sys_available_mb: number | null;
  /**
   * Memory that cannot be swapped out. macOS: wired, where a model that the GPU holds shows. Linux:
   * unevictable, where locked weights show.
   */
  sys_wired_mb?: number | null;
  swap_used_mb: number | null;
  /** Resident memory of the runner's process tree, pages mapped from files among it. */
  server_rss_mb: number | null;
  mem_pressure_level: PressureLevel | null;
  throttled: boolean | null;
  /** Of all cores together, since the last sample; null in the first. */
  cpu_pct: number | null;
  /** Sum over the GPUs that have memory of their own; null where there is none or it is not told. */
  gpu_used_mb: number | null;
  /** Written to swap since boot: a running total, so that a rate can be taken between samples. */
  swapped_out_mb?: number | null;
  power_source?: "ac" | "battery" | null;
  unavailable: Record<string, string>;
}

/**
 * Which baseline a line belongs to: `start` before the model is loaded, `steady` after it was
 * loaded and before the first measured request.
 */
export type BaselinePhase = "start" | "steady";

/** A line of `resources.jsonl`. */
export interface ResourceTick extends HostSample {
  /** True on the lines that make the baseline of their invocation. */
  baseline: boolean;
  /** On baseline lines only. */
  phase?: BaselinePhase;
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
