import type { Reading } from "./reading.ts";

/** True where either is slowed down; false only where both say that they are not. */
export function bothThrottled(
  cpu: Reading<boolean>,
  gpu: Reading<boolean> | undefined,
): Reading<boolean> {
  if (gpu === undefined || cpu.value === true) return cpu;
  if (gpu.value === true) return gpu;
  return cpu.value === null ? cpu : gpu;
}
