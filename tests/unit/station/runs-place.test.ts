import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStation, requireRuns } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";

function withRuns() {
  const machine = "trusted_stations: [ROOT]\nruns_dir: ROOT/../ext\n";
  const made = testStation({ policy: "schema_version: 1\n", machine });
  const ext = join(made.home, "ext");
  mkdirSync(ext);
  const { root, env } = made;
  return { ext, open: () => openStation({ explicit: root, env, cwd: root }) };
}

test("the empty mount point of a disk is told from the disk, and nothing is made in it", async () => {
  const { ext, open } = withRuns();
  const first = await open();
  expect([first.runs_fault, existsSync(first.runs_dir)]).toEqual([null, true]);
  renameSync(ext, `${ext}.off`);
  mkdirSync(ext);
  const away = await open();
  expect(away.runs_fault).toContain("is their disk mounted?");
  expect(existsSync(away.runs_dir)).toBe(false);
  expect(() => requireRuns(away)).toThrow(expect.objectContaining({ exitCode: 69 }));
  renameSync(`${ext}.off`, `${ext}/`);
  expect((await open()).runs_fault).toBeNull();
});

test("runs in the state directory need no mark", async () => {
  const { root, env } = testStation({ policy: "schema_version: 1\n" });
  const station = await openStation({ explicit: root, env, cwd: root });
  expect(existsSync(join(station.runs_dir, ".touchstoned-runs"))).toBe(false);
  expect(station.runs_fault).toBeNull();
});
