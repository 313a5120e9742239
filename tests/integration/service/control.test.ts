import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { controlService } from "../../../src/daemon/service/control.ts";
import { inspectHost } from "../../../src/daemon/service/inspect.ts";
import { placesOf } from "../../../src/daemon/service/places.ts";
import { readRecord } from "../../../src/daemon/service/record.ts";
import { planUninstall, uninstallService } from "../../../src/daemon/service/uninstall.ts";
import { upgradeService } from "../../../src/daemon/service/upgrade.ts";
import { processIdentity } from "../../../src/core/process-table.ts";
import { install, refusal, watching } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

function changing(world: ServiceWorld): string[] {
  return world
    .calls()
    .filter((line) => !/ show | show-user |--version/.test(line))
    .map((line) => line.replace("systemctl --user ", ""));
}

const control = (world: ServiceWorld, action: "start" | "stop" | "restart", now = false) =>
  controlService(world.host, { action, now, wanted: undefined });

/** A step of this process, as the daemon of the station would have started it. */
function stepRuns(world: ServiceWorld, own_runner: boolean): void {
  const running = {
    schema_version: 1,
    job_id: "01J",
    fence: 1,
    kind: "eval",
    started_ms: 0,
    log_path: "/x",
    token: "01JNOBODYCARRIESTHIS",
    root: processIdentity(process.pid),
    own_runner,
  };
  mkdirSync(world.state_dir, { recursive: true });
  writeFileSync(join(world.state_dir, "running.json"), JSON.stringify(running));
}

describe("start, stop, restart", () => {
  it("without an installation say what to do", async () => {
    const refused = await refusal(control(serviceWorld("linux"), "start"));
    expect(refused).toMatchObject({ code: "not_installed", exitCode: 69 });
    expect(refused.hint).toContain("touchstoned install");
  });

  it("are no trouble twice", async () => {
    const world = serviceWorld("linux");
    await install(world);
    expect(await control(world, "start")).toMatchObject({ changed: false });
    expect(await control(world, "stop")).toMatchObject({
      changed: true,
      service: { running: false },
    });
    expect(await control(world, "stop")).toMatchObject({ changed: false });
    expect(await control(world, "start")).toMatchObject({
      changed: true,
      service: { running: true },
    });
  });

  it("restart leaves a step alone that can be adopted: only the daemon is killed", async () => {
    const world = serviceWorld("linux");
    await install(world);
    stepRuns(world, false);
    world.calls();
    await control(world, "restart");
    expect(changing(world)).toEqual([
      "kill --kill-who=main --signal=SIGKILL touchstoned.service",
      "restart touchstoned.service",
    ]);
  });

  it("restart ends a step whose runner would die with the daemon, in order", async () => {
    const world = serviceWorld("linux");
    await install(world);
    stepRuns(world, true);
    world.calls();
    await control(world, "restart");
    expect(changing(world)).toEqual([
      "--no-block stop touchstoned.service",
      "kill --kill-who=main --signal=SIGTERM touchstoned.service",
      "stop touchstoned.service",
      "restart touchstoned.service",
    ]);
  });

  it("say systemd's own words where it refuses", async () => {
    const world = serviceWorld("linux");
    await install(world);
    world.fault("systemctl", "--user stop*", {
      code: 1,
      stderr: "Interactive authentication required.",
    });
    expect((await refusal(control(world, "stop"))).message).toContain("Interactive authentication");
  });

  it("need root for the system's service", async () => {
    const world = serviceWorld("linux", { uid: 0 });
    await install(world, { wanted: "system", run_as: "root" });
    world.host.uid = 1000;
    const refused = await refusal(control(world, "stop"));
    expect(refused).toMatchObject({ code: "needs_root", exitCode: 3 });
    expect(refused.hint).toMatch(/^Run: sudo .* stop --system$/);
  });
});

describe("inspectService", () => {
  it("says nothing of a machine without it", async () => {
    const world = serviceWorld("linux");
    const report = await inspectHost(world.host);
    expect(report).toMatchObject({ manager: "none", installed: false, problems: [] });
    expect(world.calls()).toEqual([]);
  });

  it.each([
    ["gave up", "failed", "1", "systemd gave it up: exit-code, exit status 1"],
    ["has not read a changed unit", "stale", "yes", "systemd has not read it again"],
  ])("tells that systemd %s", async (_name, file, text, said) => {
    const world = serviceWorld("linux");
    await install(world);
    if (file === "failed") world.set("pid", undefined);
    world.set(file, text);
    const { problems } = await inspectHost(world.host);
    expect(problems.map(({ what }) => what).join()).toContain(said);
    expect(problems.every((problem) => problem.do !== "")).toBe(true);
  });

  it.each([
    ["its station", (world: ServiceWorld) => world.station, "is gone"],
    [
      "its launcher",
      (world: ServiceWorld) => placesOf("systemd-user", world.host).launch,
      "is gone",
    ],
    [
      "its program",
      (world: ServiceWorld) => placesOf("systemd-user", world.host).versions,
      "is gone from",
    ],
    [
      "its record",
      (world: ServiceWorld) => placesOf("systemd-user", world.host).record,
      "is missing",
    ],
    [
      "its unit",
      (world: ServiceWorld) => placesOf("systemd-user", world.host).definition ?? "",
      "is gone",
    ],
  ])("tells that %s is gone", async (_name, path, said) => {
    const world = serviceWorld("linux");
    await install(world);
    rmSync(path(world), { recursive: true });
    world.set("loaded", undefined);
    const { problems } = await inspectHost(world.host);
    expect(problems.map(({ what }) => what).join()).toContain(said);
  });

  it("knows what the files say where systemd does not answer", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const wants = join(world.home, ".config/systemd/user/default.target.wants");
    mkdirSync(wants);
    writeFileSync(join(wants, "touchstoned.service"), "");
    world.fault("systemctl", "*show*", {
      code: 1,
      stderr: "Failed to connect to bus: No medium found",
    });
    const report = await inspectHost(world.host);
    expect(report).toMatchObject({ installed: true, enabled: true, running: false, pid: null });
    expect(report.problems[0]?.what).toContain("cannot be reached");
  });
});

describe("uninstall", () => {
  const plan = (
    world: ServiceWorld,
    given: { purge?: boolean; runs?: boolean; dry?: boolean } = {},
  ) =>
    planUninstall(world.host, {
      wanted: undefined,
      purge: given.purge === true,
      runs: given.runs === true,
      watcher: watching(given.dry),
    });
  const gone = (world: ServiceWorld, given = {}) =>
    uninstallService(plan(world, given), watching());

  /** State as a daemon leaves it. */
  function lived(world: ServiceWorld): void {
    for (const name of ["runs/one", "outbox", "evidence"]) {
      mkdirSync(join(world.state_dir, name), { recursive: true });
    }
    for (const name of ["queue.db", "daemon.log", "runs/one/summary.md"]) {
      writeFileSync(join(world.state_dir, name), "");
    }
  }

  it("stops, disables and takes away what was installed; the rest stays and is named", async () => {
    const world = serviceWorld("linux");
    await install(world);
    lived(world);
    world.calls();
    const outcome = await gone(world);
    expect(changing(world)).toEqual([
      "stop touchstoned.service",
      "disable touchstoned.service",
      "daemon-reload",
    ]);
    expect(existsSync(join(world.home, ".local/lib/touchstoned"))).toBe(false);
    expect(existsSync(join(world.home, ".config/systemd/user/touchstoned.service"))).toBe(false);
    expect(outcome.stays.map(({ path }) => path)).toEqual([world.station, world.state_dir]);
    expect(existsSync(join(world.state_dir, "queue.db"))).toBe(true);
    expect(await gone(world)).toMatchObject({ manager: null, changed: false });
  });

  it("changes nothing in a dry run", async () => {
    const world = serviceWorld("linux");
    await install(world);
    world.calls();
    const watcher = watching(true);
    const outcome = await uninstallService(plan(world, { dry: true, purge: true }), watcher);
    expect(outcome.changed).toBe(true);
    expect(watcher.seen.length).toBeGreaterThan(4);
    expect(changing(world)).toEqual([]);
    expect((await inspectHost(world.host)).running).toBe(true);
  });

  it("--purge takes the state, never the runs, the station, or evidence that waits", async () => {
    const world = serviceWorld("linux");
    await install(world);
    lived(world);
    writeFileSync(join(world.state_dir, "outbox/e.json"), "");
    const planned = plan(world, { purge: true });
    expect(planned.purged.map((path) => path.replace(`${world.state_dir}/`, ""))).toEqual([
      "daemon.log",
      "evidence",
      "queue.db",
    ]);
    const outcome = await uninstallService(planned, watching());
    expect(readdirSync(world.state_dir).sort()).toEqual(["outbox", "runs"]);
    expect(outcome.stays.map(({ what }) => what).join()).toContain("not committed yet");
    expect(existsSync(join(world.station, "touchstoned.yaml"))).toBe(true);
  });

  it("--purge --runs leaves nothing of ours but the station", async () => {
    const world = serviceWorld("linux");
    await install(world);
    lived(world);
    await gone(world, { purge: true, runs: true });
    expect(existsSync(world.state_dir)).toBe(false);
    expect(existsSync(join(world.station, "touchstoned.yaml"))).toBe(true);
  });

  it("goes on where half of it is gone already", async () => {
    const world = serviceWorld("linux");
    await install(world);
    rmSync(join(world.home, ".local/lib/touchstoned/versions"), { recursive: true });
    rmSync(join(world.home, ".local/lib/touchstoned/service.json"));
    world.set("enabled", undefined);
    expect(await gone(world)).toMatchObject({ manager: "systemd-user", changed: true });
    expect((await inspectHost(world.host)).manager).toBe("none");
  });

  it("wants to know which of two", async () => {
    const world = serviceWorld("linux");
    await install(world);
    const unit = join(world.host.root, "etc/systemd/system");
    mkdirSync(unit, { recursive: true });
    writeFileSync(join(unit, "touchstoned.service"), "[Service]\n");
    expect(() => plan(world)).toThrow(/systemd-user and as systemd-system/);
    const report = await inspectHost(world.host);
    expect(report.problems.map(({ what }) => what).join()).toContain("installed twice");
  });
});

describe("upgrade", () => {
  const upgrade = (world: ServiceWorld, dry = false) =>
    upgradeService(world.host, { wanted: undefined, watcher: watching(dry) });

  async function installed() {
    const world = serviceWorld("linux");
    world.daemonWrites("1.0.0");
    await install(world);
    world.calls();
    return world;
  }

  it("does nothing where exactly this program is installed", async () => {
    const world = await installed();
    expect(await upgrade(world)).toMatchObject({ changed: false, from: "1.0.0", to: "1.0.0" });
    expect(changing(world)).toEqual([]);
  });

  it("flips, restarts, and sees the new daemon at work", async () => {
    const world = await installed();
    world.program("1.1.0");
    world.daemonWrites("1.1.0");
    const outcome = await upgrade(world);
    expect(outcome).toMatchObject({ changed: true, checked: true, from: "1.0.0", to: "1.1.0" });
    expect(outcome.service).toMatchObject({ running: true, version: "1.1.0", problems: [] });
    const places = placesOf("systemd-user", world.host);
    expect(readRecord(places)).toMatchObject({ version: "1.1.0", previous: "1.0.0" });
    expect(readdirSync(places.versions).sort()).toEqual(["1.0.0", "1.1.0"]);
  });

  it.each([
    [
      "does a round of another version only",
      (world: ServiceWorld) => world.daemonWrites("1.0.0"),
      "90 s",
    ],
    [
      "is not started by systemd",
      (world: ServiceWorld) =>
        world.fault("systemctl", "--user restart*", { code: 1, stderr: "Job failed." }),
      "Job failed.",
    ],
  ])("goes back where the new daemon %s", async (_name, breaks, said) => {
    const world = await installed();
    const places = placesOf("systemd-user", world.host);
    const before = readFileSync(places.launch, "utf8");
    world.program("1.1.0");
    breaks(world);
    const refused = await refusal(upgrade(world));
    expect(refused).toMatchObject({ code: "upgrade_failed", exitCode: 1 });
    expect(refused.message).toContain("1.1.0 does not work here");
    expect(refused.message).toContain(said);
    expect(refused.message).toContain("1.0.0 runs again");
    expect(readlinkSync(places.current)).toBe("versions/1.0.0");
    expect(readRecord(places)).toMatchObject({ version: "1.0.0", previous: null });
    expect(readFileSync(places.launch, "utf8")).toBe(before);
    expect(readdirSync(places.versions)).toEqual(["1.0.0"]);
    expect((await inspectHost(world.host)).running).toBe(true);
  });

  it("changes nothing where the queue is not sound", async () => {
    const world = await installed();
    writeFileSync(join(world.state_dir, "unsound"), "accepted_not_lost: it is gone");
    world.program("1.1.0");
    const refused = await refusal(upgrade(world));
    expect(refused).toMatchObject({ code: "not_sound", exitCode: 1 });
    expect(refused.message).toContain("accepted_not_lost: it is gone");
    expect(readdirSync(placesOf("systemd-user", world.host).versions)).toEqual(["1.0.0"]);
    expect(changing(world)).toEqual([]);
  });

  it("does not start what was stopped", async () => {
    const world = await installed();
    await control(world, "stop");
    world.calls();
    world.program("1.1.0");
    expect(await upgrade(world)).toMatchObject({ changed: true, checked: false });
    expect(changing(world)).toEqual([]);
    expect((await inspectHost(world.host)).version).toBe("1.1.0");
  });

  it("only tells with --dry-run", async () => {
    const world = await installed();
    world.program("1.1.0");
    const outcome = await upgrade(world, true);
    expect(outcome).toMatchObject({ changed: true, dry_run: true, service: null });
    expect(outcome.steps.map(({ target }) => target).join("\n")).toContain("versions/1.1.0");
    expect(changing(world)).toEqual([]);
    expect(readdirSync(placesOf("systemd-user", world.host).versions)).toEqual(["1.0.0"]);
  });

  it("says where the record is lost", async () => {
    const world = await installed();
    rmSync(placesOf("systemd-user", world.host).record);
    expect(await refusal(upgrade(world))).toMatchObject({ code: "no_record" });
  });
});
