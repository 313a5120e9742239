import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { cpuMs, residentMb } from "./cpu.ts";
import { measure, type Measure } from "./measure.ts";
import { BenchStation } from "./station.ts";

/** Opening, first looks and the collector's first rounds are over by then. */
const WARM_UP_MS = 10_000;
const WINDOW_MS = { quick: 60_000, full: 600_000 } as const;
const CPU_LIMIT_PCT = 0.1;
const RSS_LIMIT = 1.6;
/** Of its own size after the warm-up. */
const GROWTH_LIMIT = 1.05;
/** A minute after its last job a daemon starts anew, without what only work needs. */
const AFTER_WORK_MS = 75_000;

async function untilDone(station: BenchStation): Promise<void> {
  const deadline_ms = performance.now() + 60_000;
  while (station.done().length === 0) {
    if (performance.now() > deadline_ms) throw new Error("waited in vain for a job");
    await delay(100);
  }
}

/** What an idle daemon costs, beside a Node process that does nothing. */
export async function measureIdle(options: { full: boolean }): Promise<Measure[]> {
  const window_ms = options.full ? WINDOW_MS.full : WINDOW_MS.quick;
  const station = await BenchStation.make(3);
  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 1 << 30)"]);
  const ended = once(bare, "close");
  try {
    const daemon = await station.daemon();
    const bare_pid = bare.pid ?? 0;
    await delay(WARM_UP_MS);
    const before = { cpu_ms: await cpuMs(daemon.pid), mb: await residentMb(daemon.pid) };
    const started_ms = performance.now();
    await delay(window_ms);
    const passed_ms = performance.now() - started_ms;
    const cpu_ms = (await cpuMs(daemon.pid)) - before.cpu_ms;
    const mb = await residentMb(daemon.pid);
    const bare_mb = await residentMb(bare_pid);
    station.drop("night.json", "q");
    await untilDone(station);
    await delay(AFTER_WORK_MS);
    const after_mb = await residentMb(daemon.pid);
    await daemon.stop();
    const over = `over ${Math.round(passed_ms / 1000)} s`;
    const alone = `Node alone ${bare_mb.toFixed(0)} MB`;
    const sizes = `${mb.toFixed(0)} MB, ${alone}`;
    const after = `${after_mb.toFixed(0)} MB, ${alone}`;
    const ratio = after_mb / bare_mb;
    return [
      measure("idle_cpu_share", (100 * cpu_ms) / passed_ms, "% of a core", CPU_LIMIT_PCT, over),
      measure("idle_rss_ratio", mb / bare_mb, "x bare Node", RSS_LIMIT, sizes),
      measure("idle_rss_ratio_after_job", ratio, "x bare Node", RSS_LIMIT, after),
      measure("idle_rss_growth", mb / before.mb, "x", GROWTH_LIMIT, over),
    ];
  } finally {
    bare.kill();
    await ended;
    await station.close();
  }
}
