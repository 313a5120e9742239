import { freemem, totalmem } from "node:os";
import { systemClock } from "../core/clock.ts";
import { LinuxReader } from "./linux/reader.ts";
import { megabytes } from "./reading.ts";

let reader: LinuxReader | undefined;

/**
 * Memory in use now, in megabytes of 10^6 bytes; null where it cannot be read. On Linux the same
 * number as `sys_used_mb` of the sampler. Elsewhere total less free memory as the system's own call
 * has it, which is good for telling a change from rest and is not the sampler's number.
 */
export function usedMemoryMb(): number | null {
  if (process.platform !== "linux") return megabytes(totalmem() - freemem());
  reader ??= new LinuxReader({
    server_pid: null,
    clock: systemClock,
    root: "/",
    nvidia: undefined,
  });
  return reader.memory().used_mb.value;
}
