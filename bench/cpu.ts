import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../src/core/process.ts";

/**
 * CPU time of a process so far, in milliseconds. On Linux from the scheduler's own nanoseconds of
 * each thread: the clock ticks of /proc/PID/stat are too coarse for a few milliseconds.
 */
export async function cpuMs(pid: number): Promise<number> {
  if (process.platform === "linux") {
    const tasks = `/proc/${pid}/task`;
    let ns = 0;
    for (const task of readdirSync(tasks)) {
      ns += Number(readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ", 1)[0]);
    }
    return ns / 1e6;
  }
  const { stdout } = await runCommand("ps", ["-o", "time=", "-p", String(pid)], { timeout_s: 5 });
  return stdout.split(":").reduce((sum, part) => sum * 60 + Number(part), 0) * 1000;
}

/** Resident memory of a process, MB. */
export async function residentMb(pid: number): Promise<number> {
  const { stdout } = await runCommand("ps", ["-o", "rss=", "-p", String(pid)], { timeout_s: 5 });
  return Number(stdout) / 1024;
}
