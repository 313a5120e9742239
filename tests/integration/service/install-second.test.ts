import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRecord } from "../../../src/daemon/service/record.ts";
import { placesOf } from "../../../src/daemon/service/places.ts";
import { install, refusal } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

/** The calls that change something. */
function changing(world: ServiceWorld): string[] {
  return world.calls().filter((line) => !/ show | show-user |--version| print/.test(line));
}

const EACH = ["daemon-reload", "enable touchstoned.service", "restart touchstoned.service"];
const FRESH = EACH.map((words) => `systemctl --user ${words}`);

describe("a second installation", () => {
  function another(world: ServiceWorld): string {
    const station = join(world.home, "another");
    mkdirSync(station);
    writeFileSync(join(station, "touchstoned.yaml"), "");
    return station;
  }

  it("of another station is refused, naming the first", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const refused = await refusal(install(world, { station: another(world) }));
    expect(refused).toMatchObject({ code: "installed_already", exitCode: 3 });
    expect(refused.message).toContain(world.station);
    expect(refused.hint).toContain("touchstoned uninstall --user");
  });

  it("of another station takes over where the first is gone", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const station = another(world);
    rmSync(world.station, { recursive: true });
    expect((await install(world, { station })).service).toMatchObject({ station, problems: [] });
  });

  it("by another name of the same station is the same", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const link = join(world.home, "link");
    symlinkSync(world.station, link);
    expect(await install(world, { station: link })).toMatchObject({ changed: false });
  });

  it("by another manager is refused", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const refused = await refusal(install(world, { wanted: "cron" }));
    expect(refused).toMatchObject({ code: "installed_already", exitCode: 3 });
    expect(refused.message).toContain("systemd-user");
  });

  it("of a newer program keeps the one before beside it, and no third", async () => {
    const world = serviceWorld("linux");
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
      world.program(version);
      await install(world);
    }
    const places = placesOf("systemd-user", world.host);
    expect(readlinkSync(places.current)).toBe("versions/1.2.0");
    const there = ["1.0.0", "1.1.0", "1.2.0"].map((name) =>
      existsSync(join(places.versions, name)),
    );
    expect(there).toEqual([false, true, true]);
    expect(readRecord(places)).toMatchObject({ version: "1.2.0", previous: "1.1.0" });
  });

  it("beside a daemon that was started by hand does not start a second one", async () => {
    const world = serviceWorld("linux");
    world.daemonWrites("1.0.0");
    mkdirSync(join(world.home, "state"), { recursive: true });
    writeFileSync(
      join(world.home, "state/daemon.json"),
      readFileSync(join(world.dir, "state/daemon.json")),
    );
    const outcome = await install(world);
    expect(changing(world)).toEqual(FRESH.slice(0, 2));
    expect(outcome.notes.join("\n")).toContain(`started by hand (pid ${process.pid})`);
  });
});

describe("install for the whole system", () => {
  it("runs as the one who said sudo, and asks systemd itself", async () => {
    const world = serviceWorld("linux", { uid: 0, env: { SUDO_USER: "root" } });
    // Root's own station, by the one name that is on every machine.
    const outcome = await install(world, { wanted: "system", run_as: "root" });
    expect(outcome).toMatchObject({ manager: "systemd-system", user: "root" });
    expect(changing(world)).toEqual(EACH.map((words) => `systemctl ${words}`));
    const unit = readFileSync(
      join(world.host.root, "etc/systemd/system/touchstoned.service"),
      "utf8",
    );
    expect(unit).toContain("\nUser=root\n");
    expect(unit).toContain("WantedBy=multi-user.target");
    expect(outcome.lib).toBe(join(world.host.root, "usr/local/lib/touchstoned"));
  });

  it.each(["no-such-user-here", "a;b", "$(id)", "-n", ""])("refuses a user %j", async (run_as) => {
    const world = serviceWorld("linux", { uid: 0 });
    expect(await refusal(install(world, { wanted: "system", run_as }))).toMatchObject({
      exitCode: 2,
    });
  });
});
