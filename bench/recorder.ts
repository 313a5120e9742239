import { systemClock } from "../src/core/clock.ts";
import { createReadingsRecorder } from "../src/probes/index.ts";
import type { BenchRow } from "./sampler.ts";

const SAMPLES = 200;
/** Apart, as they are in life: one after the other all would find the caches warm. */
const SPACING_MS = 10;
/** Two samples a second, in microseconds of a core for each. */
const BETWEEN_US = 500_000;
const GOAL_PCT = 0.3;

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

/**
 * What one look of the recorder of bounds costs this process, and the share of a core that this is
 * at two looks a second. The looks of its helpers (macOS, NVIDIA) are theirs and not in it.
 */
export async function benchRecorder(samples = SAMPLES): Promise<BenchRow[]> {
  const recorder = createReadingsRecorder({ server_pid: process.pid, clock: systemClock });
  try {
    await recorder.ready(5000);
    recorder.start();
    // The first looks open files and are compiled while they run.
    for (let i = 0; i < samples / 5; i += 1) recorder.look();
    let used_us = 0;
    for (let i = 0; i < samples; i += 1) {
      await systemClock.sleep(SPACING_MS);
      const before = process.cpuUsage();
      recorder.look();
      const { user, system } = process.cpuUsage(before);
      used_us += user + system;
    }
    const sample_us = used_us / samples;
    const share_pct = (sample_us / BETWEEN_US) * 100;
    const goal_us = (GOAL_PCT / 100) * BETWEEN_US;
    return [
      {
        name: "probe_sample_cost",
        value: round(sample_us, 1),
        unit: "us of a core",
        goal: `< ${goal_us}`,
        met: sample_us < goal_us,
      },
      {
        name: "probe_cpu_share",
        value: round(share_pct, 4),
        unit: "% of a core",
        goal: `< ${GOAL_PCT}`,
        met: share_pct < GOAL_PCT,
      },
    ];
  } finally {
    recorder.stop();
    recorder.close();
  }
}
