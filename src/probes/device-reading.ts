import type { Reading } from "./reading.ts";

export interface Accelerator {
  name: string;
  /** Version of its driver, or the driver's name where it comes with the kernel; null: with the system. */
  driver: string | null;
  /** Memory of its own in MB of 10^6 bytes, rounded as the host's is; null where it uses the host's. */
  memory_mb: number | null;
  /** Where the system tells them (Apple). */
  cores: number | null;
}

/**
 * What a measurement belongs to: a change of any of it makes what was measured before stale. Nothing
 * in it names a person, a host or a serial number, and nothing moves with a kernel update.
 */
export interface DeviceReading {
  /** Kernel and architecture: `linux x64`, `darwin arm64`. */
  os: Reading<string>;
  /** Distribution and its version; macOS with its build. */
  os_release: Reading<string>;
  /** Maker and product from firmware or device tree; `hw.model` of a Mac. */
  hardware: Reading<string>;
  /** Name of the processor and how many of them the system has. */
  processor: Reading<string>;
  /** Rounded up: see `coarseBytes`. */
  memory_bytes: Reading<number>;
  /** Empty only where the bus proves that there is none. */
  accelerators: Reading<readonly Accelerator[]>;
  /** Which of these could not be read now and stand as they were read last, with the reason. */
  notes: readonly string[];
}

/** The fields of `DeviceReading` that are readings. */
export type DeviceField = Exclude<keyof DeviceReading, "notes">;
export type DeviceFacts = Pick<DeviceReading, DeviceField>;

/** What one operating system offers; `readDevice` puts cached values in. */
export interface DeviceSource {
  /** Read from files or by one quick command; never what takes seconds. */
  facts: Omit<DeviceFacts, "accelerators">;
  /** Identifies this run of the kernel; null where that is not known. */
  boot: string | null;
  /** Changes when a card or its driver does; null where no file tells. */
  bus: string | null;
  accelerators(): Promise<DeviceFacts["accelerators"]>;
}

/**
 * Up to the next eighth of a power of two (for 16 to 32 GiB: 2 GiB steps). The kernel keeps one to
 * six percent of what is built in, more or less with each version: the steps are wider than that and
 * what is built in lies on them, so that an update does not cross one.
 */
export function coarseBytes(bytes: number): number {
  const step = 2 ** Math.floor(Math.log2(bytes)) / 8;
  return Math.ceil(bytes / step) * step;
}

/** `coarseBytes` in MB of 10^6 bytes. */
export function coarseMb(bytes: number): number {
  return Math.round(coarseBytes(bytes) / 1e6);
}
