import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { ulidSource } from "../src/core/ids.ts";
import { startSampler } from "../src/probes/index.ts";
import { cpuMs } from "./cpu.ts";

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
