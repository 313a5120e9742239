import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { isAlive, processIdentity } from "../../../src/core/process-table.ts";
import { managerOf } from "../../../src/daemon/service/managers.ts";
import { placesOf } from "../../../src/daemon/service/places.ts";
import { writeRecord, type ServiceRecord } from "../../../src/daemon/service/record.ts";
import { perform } from "../../../src/daemon/service/steps.ts";
import { stationId } from "../../../src/station/resident.ts";
import { watching } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

/** As the launcher does: holds cron's lock, and its child does not. */
const LAUNCHER = `#!/bin/sh
{
  flock -n 9 || exit 1
  sleep 600 9>&- >/dev/null &
  echo $!
  wait
} 9>>"\${0%/*}/cron.lock"
`;

function cronWorld() {
  const world = serviceWorld("linux");
  world.host.clock = systemClock;
  const places = placesOf("cron", world.host);
  mkdirSync(places.lib, { recursive: true });
  writeFileSync(places.launch, LAUNCHER);
  return { world, places };
}

/** What cron runs for `station`: a process under the launcher, which `daemon.json` of its state names. */
async function daemonOf(world: ServiceWorld, station: string, said = true) {
  const { launch } = placesOf("cron", world.host);
  const state_dir = join(world.home, "states", stationId(station));
  mkdirSync(state_dir, { recursive: true });
  const child = spawn("/bin/sh", [launch, "--cron", "daemon", "--station", station], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const identity = processIdentity(Number(line.toString()));
  if (identity === undefined) throw new Error("it has ended");
  onTestFinished(() => {
    if (isAlive(identity)) process.kill(identity.pid, "SIGKILL");
  });
  const snapshot = { schema_version: 1, process: identity, stop: "none" };
  const holder = { ...identity, purpose: "daemon", run_id: null, since: "2026-11-29T20:00:00Z" };
  const [name, value] = said ? ["daemon.json", snapshot] : ["daemon.lock.info", holder];
  writeFileSync(join(state_dir, name), JSON.stringify(value));
  return { identity, state_dir };
}

function recordOf(world: ServiceWorld, station: string): ServiceRecord {
  const state_dir = join(world.home, "states", stationId(station));
  return {
    schema_version: 1,
    manager: "cron",
    station,
    state_dir,
    runs_dir: join(state_dir, "runs"),
    account: { user: "me", uid: 1000, gid: 1000, home: world.home },
    crash_log: join(world.home, "service.log"),
    node: null,
    env: {},
    version: "1.0.0",
    previous: null,
    installed: "2026-11-29T20:00:00Z",
  };
}

describe("a daemon of cron's whose station is another one by now", () => {
  it("is ended before the new one's record is written", async () => {
    const { world, places } = cronWorld();
    const { identity } = await daemonOf(world, "/srv/a");
    writeRecord(places, recordOf(world, "/srv/a"));
    const manager = managerOf("cron", world.host, recordOf(world, "/srv/b"), "");
    const done = await perform(manager.evict?.() ?? [], watching());
    expect(done).toEqual([
      expect.objectContaining({ target: expect.stringContaining(`kill ${identity.pid} `) }),
    ]);
    expect(isAlive(identity)).toBe(false);
  });

  it("stays where it is the station's own", async () => {
    const { world, places } = cronWorld();
    const { identity } = await daemonOf(world, "/srv/a");
    writeRecord(places, recordOf(world, "/srv/a"));
    const manager = managerOf("cron", world.host, recordOf(world, "/srv/a"), "");
    const [done] = await perform(manager.evict?.() ?? [], watching());
    expect(done?.changed).toBe(false);
    expect(isAlive(identity)).toBe(true);
  });

  it.each([
    ["by what it says of itself", true],
    ["by its lock, where it could say nothing", false],
  ])("goes with uninstall although the record names the other one: %s", async (_how, said) => {
    const { world, places } = cronWorld();
    const { identity } = await daemonOf(world, "/srv/a", said);
    writeRecord(places, recordOf(world, "/srv/b"));
    const manager = managerOf("cron", world.host, recordOf(world, "/srv/b"));
    await perform(manager.deactivate(), watching());
    expect(isAlive(identity)).toBe(false);
  });
});
