import { setFlagsFromString } from "node:v8";

/**
 * For a process that waits for weeks and computes for milliseconds: its heap does not grow ahead of
 * need, and code is not optimised, which would bring ten megabytes of compiler into memory.
 */
export function staySmall(): void {
  for (const flag of ["--semi-space-growth-factor=1", "--no-opt", "--no-maglev"]) {
    setFlagsFromString(flag);
  }
}
