import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { processIdentity } from "../../../src/core/process-table.ts";
import { planUninstall, uninstallService } from "../../../src/daemon/service/uninstall.ts";
import { lockPlace } from "../../../src/station/index.ts";
import { install, watching } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

const ASKED = { wanted: undefined, purge: false, runs: false };

/** State as a daemon leaves it. */
function lived(world: ServiceWorld): void {
  mkdirSync(join(world.state_dir, "runs/one"), { recursive: true });
  for (const name of ["queue.db", "daemon.log"]) writeFileSync(join(world.state_dir, name), "");
}

describe("uninstall --purge --station", () => {
  it("--purge afterwards, of a station that is named, takes its state", async () => {
    const world = serviceWorld("linux");
    await install(world);
    lived(world);
    const { stays } = await uninstallService(
      planUninstall(world.host, { ...ASKED, watcher: watching() }),
      watching(),
    );
    expect(stays.find(({ path }) => path === world.state_dir)?.what).toContain(
      `touchstoned uninstall --purge --station ${world.station}`,
    );
    const { state_dir } = world;
    const state = { root: world.station, state_dir, runs_dir: join(state_dir, "runs") };
    const options = { wanted: undefined, purge: true, runs: false, watcher: watching() };
    expect(planUninstall(world.host, options).purged).toEqual([]);
    const lock = lockPlace(world.host.env, {}).path;
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, "");
    const left = planUninstall(world.host, { ...options, state });
    expect(left).toMatchObject({ manager: null, station: world.station });
    const purged = await uninstallService(left, watching());
    expect(purged.stays).toContainEqual({
      path: lock,
      what: expect.stringContaining("model lock"),
    });
    expect(readdirSync(state_dir)).toEqual(["runs"]);
    const slip = { ...state, state_dir: `${state_dir}-x`, runs_dir: `${state_dir}-x/runs` };
    expect(planUninstall(world.host, { ...options, state: slip }).purged).toEqual([]);
  });

  it("--purge --station refuses another station than the service's, and one that a daemon runs", async () => {
    const world = serviceWorld("linux");
    const { state_dir } = world;
    const state = { root: "/srv/other", state_dir, runs_dir: join(state_dir, "runs") };
    const options = { wanted: undefined, purge: true, runs: false, watcher: watching(), state };
    mkdirSync(state_dir, { recursive: true });
    const snapshot = { schema_version: 1, process: processIdentity(process.pid), stop: "none" };
    writeFileSync(join(state_dir, "daemon.json"), JSON.stringify(snapshot));
    expect(() => planUninstall(world.host, options)).toThrow(/runs \/srv\/other/);
    await install(world);
    expect(() => planUninstall(world.host, options)).toThrow(/not \/srv\/other/);
  });
});
