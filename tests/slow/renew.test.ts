import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stateFiles } from "../../src/daemon/files.ts";
import { standInNotify } from "../helpers/service-manager.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { waitFor } from "../helpers/wait.ts";
import { DaemonStation } from "../integration/daemon/setting.ts";

function residentMb(pid: number): number {
  const pages = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(pages)?.[1]) / 1024;
}

test("a daemon gives its memory back after its jobs, and goes on under the same number", async () => {
  const station = await DaemonStation.make();
  const { night } = station;
  night.write("touchstoned.yaml", "schema_version: 1\ninbox:\n  min_age_seconds: 0.1\n");
  const notes = standInNotify(tempDir(), 120_000);
  Object.assign(night.env, notes.env);
  const daemon = await station.daemon();
  const pid = daemon.child.pid ?? 0;
  station.drop("one.json", [{ model: { id: "fake", quant: "a" } }]);
  await waitFor("the first file", () => station.placed("done").length === 1, 240_000);
  const grown_mb = residentMb(pid);
  const runs = () => daemon.output().stderr.match(/^daemon of .* runs as/gm)?.length === 2;
  await waitFor("the new process", runs, 240_000);
  expect(daemon.output().stderr).toContain("starts anew");
  expect(residentMb(pid)).toBeLessThan(grown_mb - 10);
  expect(readFileSync(stateFiles(station.state_dir).snapshot, "utf8")).toContain(`"pid":${pid},`);
  station.drop("two.json", [{ model: { id: "fake", quant: "b" } }]);
  await waitFor("the second file", () => station.placed("done").length === 2, 240_000);
  // The service manager hears of it as of any start.
  const ready = notes.read().filter((line) => line.includes("READY=1"));
  expect(ready).toHaveLength(2);
  await station.stop(daemon);
  expect(daemon.child.exitCode).toBe(0);
});
