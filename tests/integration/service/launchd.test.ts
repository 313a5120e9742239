import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { controlService } from "../../../src/daemon/service/control.ts";
import { inspectHost } from "../../../src/daemon/service/inspect.ts";
import { planUninstall, uninstallService } from "../../../src/daemon/service/uninstall.ts";
import { install, refusal, watching } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

const TARGET = "gui/1000/dev.touchstoned.daemon";

function plistOf(world: ServiceWorld): string {
  return join(world.home, "Library/LaunchAgents/dev.touchstoned.daemon.plist");
}

/** The calls that change something. */
function changing(world: ServiceWorld): string[] {
  return world.calls().filter((line) => !line.startsWith("launchctl print"));
}

async function uninstall(world: ServiceWorld, purge = false) {
  const watcher = watching();
  const plan = planUninstall(world.host, { wanted: undefined, purge, runs: false, watcher });
  return uninstallService(plan, watcher);
}

const control = (world: ServiceWorld, action: "start" | "stop" | "restart", now = false) =>
  controlService(world.host, { action, now, wanted: undefined });

describe("install for launchd", () => {
  it("checks the plist, loads it and starts it at once", async () => {
    const world = serviceWorld("darwin");
    const outcome = await install(world);
    expect(outcome).toMatchObject({ manager: "launchd-agent", problems: [] });
    expect(outcome.service).toMatchObject({
      running: true,
      pid: 4242,
      enabled: true,
      linger: null,
    });
    expect(changing(world)).toEqual([
      `plutil -lint ${plistOf(world)}`,
      `launchctl enable ${TARGET}`,
      `launchctl bootstrap gui/1000 ${plistOf(world)}`,
      `launchctl kickstart ${TARGET}`,
    ]);
    const support = join(world.home, "Library/Application Support/touchstoned");
    expect(outcome.lib).toBe(join(support, "lib"));
    expect(readFileSync(plistOf(world), "utf8")).toContain(
      `<string>${support}/service.log</string>`,
    );
  });

  it("changes nothing the second time", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.calls();
    expect(await install(world)).toMatchObject({ changed: false, problems: [] });
    expect(changing(world)).toEqual([]);
  });

  it("boots the old one out, waits until it is gone, and only then loads the new one", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.program("1.1.0");
    world.set("slow", "5");
    world.calls();
    expect((await install(world)).service).toMatchObject({ running: true, version: "1.1.0" });
    const lines = world.calls();
    const at = (words: string) => lines.findIndex((line) => line.startsWith(`launchctl ${words}`));
    expect(at("bootout")).toBeGreaterThan(-1);
    expect(at("bootstrap")).toBeGreaterThan(at("bootout"));
    const looks = lines
      .slice(at("bootout"), at("bootstrap"))
      .filter((line) => / print gui/.test(line));
    expect(looks.length).toBeGreaterThan(5);
  });

  it("tries again where launchd says input/output error, with longer and longer waits", async () => {
    const world = serviceWorld("darwin");
    const stderr = "Bootstrap failed: 5: Input/output error";
    world.fault("launchctl", "bootstrap*", { code: 5, stderr, times: 3 });
    expect((await install(world)).service?.running).toBe(true);
    const tries = world.calls().filter((line) => line.startsWith("launchctl bootstrap"));
    expect(tries).toHaveLength(4);
    expect(world.clock.monotonic_ms()).toBeGreaterThanOrEqual(2000 + 4000 + 6000);
  });

  it("gives up after five tries, with what may help", async () => {
    const world = serviceWorld("darwin");
    const stderr = "Bootstrap failed: 5: Input/output error";
    world.fault("launchctl", "bootstrap*", { code: 5, stderr, times: 99 });
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "service_manager", exitCode: 69 });
    expect(refused.message).toContain(stderr);
    expect(refused.hint).toContain("plutil -lint");
    expect(world.calls().filter((line) => line.startsWith("launchctl bootstrap"))).toHaveLength(5);
  });

  it("does not try again what no waiting mends", async () => {
    const world = serviceWorld("darwin");
    const stderr = "Bootstrap failed: 125: Domain does not support specified action";
    world.fault("launchctl", "bootstrap*", { code: 125, stderr });
    const refused = await refusal(install(world));
    expect(refused.hint).toContain("--system");
    expect(world.calls().filter((line) => line.startsWith("launchctl bootstrap"))).toHaveLength(1);
  });

  it("takes a bootstrap that failed and worked for one that worked", async () => {
    const world = serviceWorld("darwin");
    // As where another process has loaded it in the meantime.
    world.set("loaded", "");
    world.fault("launchctl", "print gui/1000/*", { code: 113, stderr: "Bad request.", times: 3 });
    world.fault("launchctl", "bootstrap*", { code: 37, stderr: "Operation already in progress" });
    expect((await install(world)).service?.running).toBe(true);
  });

  it("switches on what a person had switched off", async () => {
    const world = serviceWorld("darwin");
    world.set("disabled", "");
    expect((await install(world)).service).toMatchObject({ enabled: true, problems: [] });
  });

  it("says where nobody is logged in at the screen", async () => {
    const world = serviceWorld("darwin");
    world.fault("launchctl", "print gui/1000", { code: 113, stderr: "Bad request." });
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "service_manager", exitCode: 69 });
    expect(refused.hint).toContain("sudo touchstoned install --system");
    expect(existsSync(join(world.home, "Library"))).toBe(false);
  });

  it("refuses a plist that plutil refuses, before it is loaded", async () => {
    const world = serviceWorld("darwin");
    world.fault("plutil", "*", { code: 1, stderr: "touchstoned.plist: Unexpected character" });
    expect((await refusal(install(world))).message).toContain("Unexpected character");
    expect(world.calls().join("\n")).not.toContain("bootstrap");
  });

  it("makes a daemon of the system with a user of its own", async () => {
    const world = serviceWorld("darwin", { uid: 0 });
    const outcome = await install(world, { wanted: "system", run_as: "root" });
    expect(outcome).toMatchObject({ manager: "launchd-daemon", user: "root" });
    const plist = join(world.host.root, "Library/LaunchDaemons/dev.touchstoned.daemon.plist");
    expect(readFileSync(plist, "utf8")).toMatch(/<key>UserName<\/key>\s*<string>root<\/string>/);
    expect(changing(world)).toContain(`launchctl bootstrap system ${plist}`);
  });

  it.each(["Documents", "Desktop/x", "Downloads", "Library/Mobile Documents/com~apple"])(
    "warns of a station in %s, and says what to do",
    async (folder) => {
      const world = serviceWorld("darwin");
      const station = join(world.home, folder, "bench");
      mkdirSync(station, { recursive: true });
      writeFileSync(join(station, "touchstoned.yaml"), "");
      const { problems } = await install(world, { station });
      expect(problems).toHaveLength(1);
      expect(problems[0]?.what).toContain("macOS keeps services out of");
      expect(problems[0]?.do).toContain("Full Disk Access");
      expect(problems[0]?.do).toContain(join(world.home, "bench"));
    },
  );
});

describe("start, stop and restart under launchd", () => {
  it("stop unloads it, start loads it again; both twice are no trouble", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    expect(await control(world, "stop")).toMatchObject({
      changed: true,
      service: { running: false },
    });
    expect(await control(world, "stop")).toMatchObject({
      changed: false,
      service: { running: false },
    });
    expect(await control(world, "start")).toMatchObject({
      changed: true,
      service: { running: true },
    });
    expect(await control(world, "start")).toMatchObject({
      changed: false,
      service: { running: true },
    });
  });

  it("stop --now asks twice", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.calls();
    await control(world, "stop", true);
    expect(changing(world)).toEqual([
      `launchctl kill SIGTERM ${TARGET}`,
      `launchctl bootout ${TARGET}`,
    ]);
  });

  it("restart without a step is an orderly end and a new start", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.calls();
    expect((await control(world, "restart")).service.running).toBe(true);
    expect(changing(world)).toEqual([
      `launchctl kill SIGTERM ${TARGET}`,
      `launchctl bootout ${TARGET}`,
      `launchctl enable ${TARGET}`,
      `launchctl bootstrap gui/1000 ${plistOf(world)}`,
      `launchctl kickstart ${TARGET}`,
    ]);
  });

  it("says that it ended, and with what", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.set("pid", undefined);
    world.set("exit", "1");
    const { problems, running } = await inspectHost(world.host);
    expect(running).toBe(false);
    expect(problems.map(({ what }) => what).join()).toContain("exit status 1");
  });

  it("says that it is not loaded, by the recorded words", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.set("loaded", undefined);
    const { problems } = await inspectHost(world.host);
    expect(problems[0]).toEqual({
      what: "launchd has not loaded it",
      do: "Run: touchstoned start",
    });
  });
});

describe("uninstall from launchd", () => {
  it("boots it out, waits, and takes the plist and the program away", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.set("slow", "2");
    const outcome = await uninstall(world);
    expect(outcome.changed).toBe(true);
    expect(existsSync(plistOf(world))).toBe(false);
    expect(existsSync(join(world.home, "Library/Application Support/touchstoned/lib"))).toBe(false);
    expect(existsSync(world.station)).toBe(true);
    expect((await inspectHost(world.host)).manager).toBe("none");
    expect(await uninstall(world)).toMatchObject({ manager: null, changed: false });
  });

  it("says where launchd does not let go of it", async () => {
    const world = serviceWorld("darwin");
    await install(world);
    world.set("slow", "100000");
    const refused = await refusal(uninstall(world));
    expect(refused).toMatchObject({ code: "service_manager" });
    expect(refused.hint).toContain("reboot");
    expect(existsSync(plistOf(world))).toBe(true);
  });
});
