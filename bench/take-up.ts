import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { measure, quantile, type Measure } from "./measure.ts";
import { BenchStation } from "./station.ts";

const ROUNDS = 12;
/** Long enough for the parser to be started ahead, as it is in a real station. */
const MIN_AGE_S = 3;
const LIMIT_MS = 50;
/** A file comes to a daemon that waits, and not to one that is still putting the last one away. */
const PAUSE_MS = 1000;
const PATIENCE_MS = 60_000;
/** When a step began is read from its record: to look more often would only take time from it. */
const POLL_MS = 25;

async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  const deadline_ms = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (performance.now() > deadline_ms) throw new Error(`waited in vain for ${what}`);
    await delay(POLL_MS);
  }
}

/**
 * Milliseconds from the moment at which a file was at rest long enough to the moment at which the
 * process of its first step exists.
 */
async function once(station: BenchStation, round: number): Promise<number> {
  await delay(PAUSE_MS);
  const path = station.drop(`night-${round}.json`, `q${round}`);
  const { mtimeMs, ctimeMs } = statSync(path);
  const ripe_ms = Math.max(mtimeMs, ctimeMs) + MIN_AGE_S * 1000;
  const since_ms = await until("a step", () => {
    const noted_ms = station.stepSince();
    return noted_ms !== undefined && noted_ms > mtimeMs ? noted_ms : undefined;
  });
  await until("its end", () => (station.done().length > round ? true : undefined));
  return since_ms - ripe_ms;
}

/** From a ripe file to a running step: reading, parsing, storing, locking, claiming, starting. */
export async function measureTakeUp(): Promise<Measure[]> {
  const station = await BenchStation.make(MIN_AGE_S);
  try {
    const daemon = await station.daemon();
    const taken_ms: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) taken_ms.push(await once(station, round));
    await daemon.stop();
    const p90_ms = quantile(taken_ms, 0.9);
    const note = `until the step's process exists; p90 ${p90_ms.toFixed(0)} ms, ${ROUNDS} files`;
    return [measure("ripe_to_step_p50", quantile(taken_ms, 0.5), "ms", LIMIT_MS, note)];
  } finally {
    await station.close();
  }
}
