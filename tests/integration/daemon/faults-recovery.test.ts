import { expect, test } from "vitest";
import { stateFiles } from "../../../src/daemon/files.ts";
import { openSqliteStore } from "../../../src/store/index.ts";
import { fillWaiting } from "../../helpers/waiting-jobs.ts";
import { waitFor } from "../../helpers/wait.ts";
import { DaemonStation } from "./setting.ts";

const WAITING = 10_000;

test("a killed daemon comes back to 10,000 waiting jobs, and the first in rank runs", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const first = await station.daemon();
  station.drop("urgent.json", [{ priority: 1 }]);
  await waitFor("a request", () => station.gate.asked > 0, 120_000);
  const path = stateFiles(station.state_dir).store;
  const { store } = await openSqliteStore({ path, now_ms: Date.now(), role: "guest" });
  await fillWaiting(store, WAITING, station.state_dir);
  first.child.kill("SIGKILL");
  await first.finished;
  const second = await station.daemon();
  const { counts, running } = await station.status();
  expect(counts).toMatchObject({ PENDING: WAITING, IN_PROGRESS: 1 });
  expect(running?.model_id).toBe("fake");
  expect(await store.check()).toEqual([]);
  await station.night.run("queue", "hold");
  station.gate.open();
  await station.waitPlaced("done");
  expect((await station.status()).counts).toMatchObject({ PENDING: WAITING, COMPLETE: 1 });
  await store.close();
  await station.stop(second);
});
