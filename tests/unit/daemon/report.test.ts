import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import { START } from "../../../src/daemon/core.ts";
import { Report } from "../../../src/daemon/report.ts";
import { readSnapshot } from "../../../src/daemon/snapshot.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function reporting() {
  const path = join(tempDir(), "daemon.json");
  const said: string[] = [];
  const report = new Report({
    path,
    standing: {
      root: "/station",
      process: { pid: 1, start_token: "1", boot_id: "b" },
      owner_id: "box",
      runners: [],
      memory_mb: null,
      lock_path: "/lock",
      inbox: { path: "/station/inbox", min_age_ms: 30_000 },
    },
    clock: new FakeClock({ wall_ms: 0 }),
    log: silentLog(),
    say: (text) => said.push(text),
  });
  return { path, report, said };
}

test("changes that come together are written together, the last one as it is", () => {
  const { path, report } = reporting();
  report.state({ ...START, phase: "idle" }, 1000);
  report.state({ ...START, phase: "disk_low", disk_low: "disk low: 3 MB" }, 2000);
  expect(existsSync(path)).toBe(false);
  report.flush();
  expect(readSnapshot(path)).toMatchObject({
    phase: "disk_low",
    disk_low: "disk low: 3 MB",
    next_look: "1970-01-01T00:00:02.000Z",
  });
});

test("what nobody changed is not written again", () => {
  const { path, report } = reporting();
  report.state({ ...START, phase: "idle" }, null);
  report.flush();
  rmSync(path);
  report.flush();
  expect(existsSync(path)).toBe(false);
});

test("a wait for the model lock is said once, as long as it is the same holder", () => {
  const { report, said } = reporting();
  for (const lock_held of ["held by pid 5", "held by pid 5", "held by pid 6"]) {
    report.state({ ...START, phase: "waiting_for_lock", lock_held }, null);
  }
  report.flush();
  expect(said).toEqual([
    "waiting for the model lock, held by pid 5",
    "waiting for the model lock, held by pid 6",
  ]);
});
