import { join } from "node:path";
import { openSqliteStore } from "../src/store/index.ts";
import { fillWaiting } from "../tests/helpers/waiting-jobs.ts";
import { measure, quantile, type Measure } from "./measure.ts";
import { BenchStation } from "./station.ts";

const WAITING = 10_000;
const ROUNDS = 5;
const LIMIT_S = 2;

/** From the start of the program to "runs" after a SIGKILL of the last one, so many jobs waiting. */
export async function measureRecovery(): Promise<Measure[]> {
  const station = await BenchStation.make(30);
  try {
    const starts = async (): Promise<number> => {
      const taken_ms: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const daemon = await station.daemon();
        taken_ms.push(daemon.started_after_ms);
        await daemon.kill();
      }
      return quantile(taken_ms, 0.5);
    };
    const empty_ms = await starts();
    const path = join(station.state_dir, "queue.db");
    const { store } = await openSqliteStore({ path, now_ms: Date.now(), role: "owner" });
    await fillWaiting(store, WAITING, station.state_dir);
    await store.hold("queue", Date.now());
    await store.close();
    const full_ms = await starts();
    const note = `${(empty_ms / 1000).toFixed(2)} s with an empty queue`;
    return [measure("recovery_10000_waiting", full_ms / 1000, "s", LIMIT_S, note)];
  } finally {
    await station.close();
  }
}
