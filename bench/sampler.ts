import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { ulidSource } from "../src/core/ids.ts";
import { runCommand } from "../src/core/process.ts";
import { startSampler } from "../src/probes/index.ts";

export interface BenchRow {
  name: string;
  value: number | null;
  unit: string;
  goal: string;
  /** null where it could not be measured. */
  met: boolean | null;
}

const GOAL_PCT = 0.3;
/** Start-up and the baseline are over by then. */
const WARM_UP_MS = 3000;
const WINDOW_MS = 20_000;

/**
 * CPU time of a process so far, in milliseconds. On Linux from the scheduler's own nanoseconds of
 * each thread: the clock ticks of /proc/PID/stat are too coarse for a few milliseconds.
 */
async function cpuMs(pid: number): Promise<number> {
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

/** The share of one core that the sampler process takes while it samples twice a second. */
export async function benchSampler(window_ms = WINDOW_MS): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "touchstoned-bench-"));
  const clock = systemClock;
  const sampler = await startSampler({
    path: join(folder, "resources.jsonl"),
    server_pid: process.pid,
    clock,
    new_id: ulidSource(clock),
  });
  let share_pct: number | null = null;
  try {
    await clock.sleep(WARM_UP_MS);
    const [cpu_ms, start_ms] = [await cpuMs(sampler.pid), clock.monotonic_ms()];
    await clock.sleep(window_ms);
    const [used_ms, wall_ms] = [
      (await cpuMs(sampler.pid)) - cpu_ms,
      clock.monotonic_ms() - start_ms,
    ];
    share_pct = Math.round((used_ms / wall_ms) * 100_000) / 1000;
  } finally {
    await sampler.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return [
    {
      name: "sampler_cpu_share",
      value: share_pct,
      unit: "% of a core",
      goal: `< ${GOAL_PCT}`,
      met: share_pct < GOAL_PCT,
    },
  ];
}
