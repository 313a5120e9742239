import type { GpuMemory } from "./gpu/gpu-memory.ts";
import type { Reading } from "./reading.ts";
import type { PressureLevel } from "./sample.ts";

/** A running total and when it was read, so that a rate can be taken between two. */
export interface Counted {
  total: number;
  at_ms: number;
}

/** Ticks since boot, of all processors together. */
export interface ProcessorTime {
  stolen: number;
  total: number;
}

export interface CgroupMemory {
  used_mb: number;
  limit_mb: number;
}

/** One look at what the bounds are about. */
export interface BoundSample {
  host_used_mb: Reading<number>;
  host_total_mb: Reading<number>;
  /** `none` where no control group limits us below the host's memory. */
  cgroup: Reading<CgroupMemory | "none">;
  gpus: Reading<readonly GpuMemory[]>;
  /** Megabytes written to swap since boot; null where this look did not ask. */
  swapped_out: Reading<Counted> | null;
  /** Milliseconds since boot in which some task stood still for want of memory; null: not asked. */
  stalled: Reading<Counted> | null;
  /** The same within the control group that limits us; null where none does, or not asked. */
  group_stalled: Reading<Counted> | null;
  pressure: Reading<PressureLevel>;
  /** Slowed down by heat or power. */
  throttled: Reading<boolean>;
  /** In a virtual machine: what its host takes; null elsewhere, and where it was not asked. */
  stolen: Reading<ProcessorTime> | null;
}

/** What one operating system offers. */
export interface BoundReader {
  /** Resolves when every helper has spoken or failed, at the latest after `limit_ms`. */
  ready(limit_ms: number): Promise<void>;
  /** A window begins: what was slowed down before does not belong to it. */
  begin(): void;
  /** `edge`: the first or last look of a window, for which totals are read. Never throws. */
  read(edge: boolean): BoundSample;
  close(): void;
}
