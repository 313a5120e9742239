import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRecord } from "../../../src/daemon/service/record.ts";
import { placesOf } from "../../../src/daemon/service/places.ts";
import { fixture } from "../../helpers/fixtures.ts";
import { install, refusal, watching } from "../../helpers/installing.ts";
import { serviceWorld, type ServiceWorld } from "../../helpers/service-world.ts";

/** The calls that change something. */
function changing(world: ServiceWorld): string[] {
  return world.calls().filter((line) => !/ show | show-user |--version| print/.test(line));
}

function unitOf(world: ServiceWorld): string {
  return readFileSync(join(world.home, ".config/systemd/user/touchstoned.service"), "utf8");
}

const EACH = ["daemon-reload", "enable touchstoned.service", "restart touchstoned.service"];
const FRESH = EACH.map((words) => `systemctl --user ${words}`);

describe("install for the user's systemd", () => {
  it("copies, writes, enables and starts", async () => {
    const world = serviceWorld("linux");
    const outcome = await install(world);
    expect(outcome).toMatchObject({ manager: "systemd-user", changed: true, problems: [] });
    expect(outcome.service).toMatchObject({
      running: true,
      enabled: true,
      linger: true,
      pid: 4242,
      station: world.station,
      version: "1.0.0",
    });
    expect(changing(world)).toEqual(FRESH);
    const places = placesOf("systemd-user", world.host);
    expect(readlinkSync(places.current)).toBe("versions/1.0.0");
    expect(statSync(places.launch).mode & 0o777).toBe(0o755);
    expect(unitOf(world)).toContain(`ExecStart=/bin/sh ${places.launch} daemon --station `);
    expect(unitOf(world)).toContain("Type=notify");
    expect(readRecord(places)).toMatchObject({ station: world.station, version: "1.0.0" });
  });

  it("changes nothing the second time", async () => {
    const world = serviceWorld("linux");
    await install(world);
    world.calls();
    const again = await install(world);
    expect(again).toMatchObject({ changed: false, problems: [] });
    expect(changing(world)).toEqual([]);
  });

  it("mends what was changed by hand, and starts it anew", async () => {
    const world = serviceWorld("linux");
    await install(world);
    writeFileSync(placesOf("systemd-user", world.host).launch, "#!/bin/sh\n");
    world.set("enabled", undefined);
    world.calls();
    expect(await install(world)).toMatchObject({ changed: true, problems: [] });
    expect(changing(world)).toEqual([
      "systemctl --user daemon-reload",
      "systemctl --user enable touchstoned.service",
      // A daemon without a step that could be adopted is stopped in order first.
      "systemctl --user --no-block stop touchstoned.service",
      "systemctl --user kill --kill-who=main --signal=SIGTERM touchstoned.service",
      "systemctl --user stop touchstoned.service",
      "systemctl --user restart touchstoned.service",
    ]);
  });

  it("only tells with --dry-run: each file with its text, each command", async () => {
    const world = serviceWorld("linux");
    const watcher = watching(true);
    const outcome = await install(world, { watcher });
    expect(outcome).toMatchObject({ dry_run: true, service: null });
    expect(changing(world)).toEqual([]);
    expect(existsSync(join(world.home, ".local"))).toBe(false);
    expect(existsSync(join(world.home, ".config"))).toBe(false);
    const told = watcher.seen.map(({ what, target }) => `${what} ${target}`);
    expect(told).toEqual([
      expect.stringMatching(/^copy .*versions\/1\.0\.0 \(1 files\)$/),
      expect.stringMatching(/^link .*current -> versions\/1\.0\.0$/),
      expect.stringMatching(/^write .*\/launch$/),
      expect.stringMatching(/^write .*\/service\.json$/),
      expect.stringMatching(/^write .*\.config\/systemd\/user\/touchstoned\.service$/),
      ...FRESH.map((line) => `run ${line}`),
    ]);
    const unit = watcher.seen.find(({ target }) => target.endsWith(".service"));
    expect(unit?.content).toContain("[Service]");
  });

  it("makes a station where there is none", async () => {
    const world = serviceWorld("linux");
    const cwd = join(world.home, "elsewhere");
    mkdirSync(cwd);
    const outcome = await install(world, { station: undefined, cwd });
    expect(outcome.station).toBe(join(world.home, ".local/share/touchstoned/station"));
    expect(outcome.service).toMatchObject({ station: outcome.station, running: true });
  });

  it("takes the station that it is called in", async () => {
    const world = serviceWorld("linux");
    mkdirSync(join(world.station, "packs"));
    const outcome = await install(world, { station: undefined, cwd: join(world.station, "packs") });
    expect(outcome.station).toBe(world.station);
  });

  it.each(["a b", `q"u'ote`, "50%h", "$HOME", "back\\slash", "ünï"])(
    "runs from a home called %s",
    async (name) => {
      const world = serviceWorld("linux", { name });
      expect((await install(world)).service).toMatchObject({ running: true, problems: [] });
    },
  );

  it("keeps what says where things lie", async () => {
    const world = serviceWorld("linux");
    const config = join(world.home, "my config");
    const env = { ...world.env, XDG_CONFIG_HOME: config, TOUCHSTONED_LOCK: "/it's/lock" };
    world.host.env = env;
    world.set("unit-user", join(config, "systemd/user/touchstoned.service"));
    await install(world);
    const text = readFileSync(placesOf("systemd-user", world.host).launch, "utf8");
    expect(text).toContain(`XDG_CONFIG_HOME='${config}'\nexport XDG_CONFIG_HOME`);
    expect(text).toContain(String.raw`TOUCHSTONED_LOCK='/it'\''s/lock'`);
  });

  it("writes Type=exec where there is no systemd-notify", async () => {
    const world = serviceWorld("linux");
    world.host.has = (file) => file !== "systemd-notify";
    const outcome = await install(world);
    expect(unitOf(world)).toContain("Type=exec");
    expect(unitOf(world)).not.toContain("WatchdogSec=");
    expect(outcome.problems).toEqual([
      { what: expect.stringContaining("systemd-notify"), do: expect.stringContaining("install") },
    ]);
  });
});

describe("linger", () => {
  const without = fixture("probes/linux/loginctl-show-user/04-fedora31-idle-since.txt").toString();

  it("is switched on", async () => {
    const world = serviceWorld("linux");
    world.set("show-user", without);
    const outcome = await install(world);
    expect(world.calls()).toContain("loginctl enable-linger me");
    expect(outcome.service).toMatchObject({ linger: true, problems: [] });
  });

  it("is told of where this user may not", async () => {
    const world = serviceWorld("linux");
    world.set("show-user", without);
    world.fault("loginctl", "enable-linger*", {
      code: 1,
      stderr: "Could not enable linger: Access denied",
    });
    const outcome = await install(world);
    expect(outcome.service).toMatchObject({ running: true, linger: false });
    expect(outcome.problems).toEqual([
      {
        what: "the service ends when me logs out, and does not start at boot",
        do: "Run: sudo loginctl enable-linger me",
      },
    ]);
  });

  it.each([
    ["systemd 255 (255.4-1ubuntu8.4)", true],
    ["systemd 256 (256.2-1)", true],
    ["systemd 256 (256.3-1)", false],
    ["systemd 254 (254.9-1)", false],
    ["systemd 257 (257~rc1)", false],
  ])("does not help under %s: %s", async (version, broken) => {
    const world = serviceWorld("linux");
    world.set("version", `${version}\n+PAM\n`);
    const { problems } = await install(world);
    const told = {
      what: expect.stringContaining("linger or not"),
      do: expect.stringContaining("--system"),
    };
    expect(problems).toEqual(broken ? [told] : []);
  });

  it("is read from its mark where logind does not know the user", async () => {
    const world = serviceWorld("linux");
    world.fault("loginctl", "show-user*", {
      code: 1,
      stderr: "Failed to get user: User ID 1000 is not logged in or lingering",
      times: 9,
    });
    const marks = join(world.host.root, "var/lib/systemd/linger");
    mkdirSync(marks, { recursive: true });
    writeFileSync(join(marks, "me"), "");
    expect((await install(world)).service?.linger).toBe(true);
  });
});

const NO_BUS = fixture("probes/linux/systemctl-user/06-not-booted-with-systemd.txt")
  .toString()
  .trim();

describe("what is in the way", () => {
  it("no bus, as over su: nothing is copied", async () => {
    const world = serviceWorld("linux", { env: { XDG_RUNTIME_DIR: "" } });
    rmSync(join(world.host.root, "run/user/1000"), { recursive: true });
    world.fault("systemctl", "--user*", { code: 1, stderr: NO_BUS, times: 99 });
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "service_manager", exitCode: 69 });
    expect(refused.message).toContain(NO_BUS);
    expect(refused.message).toContain("su");
    expect(refused.hint).toContain("sudo loginctl enable-linger me");
    expect(existsSync(join(world.home, ".local"))).toBe(false);
  });

  it("no bus in a dry run: told all the same", async () => {
    const world = serviceWorld("linux");
    world.fault("systemctl", "--user*", { code: 1, stderr: NO_BUS, times: 99 });
    expect(await install(world, { watcher: watching(true) })).toMatchObject({ dry_run: true });
  });

  it("no bus named, although there is one: it is found", async () => {
    const world = serviceWorld("linux", { env: { XDG_RUNTIME_DIR: "" } });
    writeFileSync(join(world.host.root, "run/user/1000/bus"), "");
    const seen: Record<string, string>[] = [];
    const inner = { ...world.host };
    world.host.run = (file, args, options) => {
      if (args[0] === "--user") seen.push(options?.env ?? {});
      return inner.run(file, args, options);
    };
    await install(world);
    const runtime = join(world.host.root, "run/user/1000");
    const bus = `unix:path=${runtime}/bus`;
    expect(seen).not.toEqual([]);
    for (const env of seen) {
      expect(env).toEqual({ XDG_RUNTIME_DIR: runtime, DBUS_SESSION_BUS_ADDRESS: bus });
    }
  });

  it("no systemd: --user says so, and cron is taken where nothing was asked for", async () => {
    const world = serviceWorld("linux");
    rmSync(join(world.host.root, "run/systemd"), { recursive: true });
    const refused = await refusal(install(world, { wanted: "user" }));
    expect(refused).toMatchObject({ exitCode: 69 });
    expect(refused.hint).toContain("--cron");
    const outcome = await install(world, { watcher: watching(true) });
    expect(outcome.manager).toBe("cron");
    expect(outcome.notes.join()).toContain("cron");
  });

  it("root by mistake: refused, and told how it is meant", async () => {
    const world = serviceWorld("linux", { uid: 0 });
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "as_root", exitCode: 3 });
    expect(refused.hint).toContain("--system --run-as");
    expect(changing(world)).toEqual([]);
    expect((await install(world, { run_as: "root" })).service?.running).toBe(true);
  });

  it("not root: --system says with which command", async () => {
    const refused = await refusal(install(serviceWorld("linux"), { wanted: "system" }));
    expect(refused).toMatchObject({ code: "needs_root", exitCode: 3 });
    expect(refused.hint).toMatch(/^Run: sudo \S+ \S+ install --system$/);
  });

  it("somebody else's rights without --system", async () => {
    const refused = await refusal(install(serviceWorld("linux"), { run_as: "nobody" }));
    expect(refused).toMatchObject({ exitCode: 2 });
  });

  it("a station that is unfit, with its own words; nothing is registered", async () => {
    const world = serviceWorld("linux");
    writeFileSync(join(world.station, "touchstoned.yaml"), "unfit: line 3: no such key");
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "unfit", exitCode: 78, hint: "mend it" });
    expect(refused.message).toContain("unfit: line 3: no such key");
    expect(changing(world)).toEqual([]);
    expect(existsSync(join(world.home, ".config/systemd"))).toBe(false);
  });

  it("a station that is not trusted", async () => {
    const world = serviceWorld("linux");
    writeFileSync(join(world.station, "touchstoned.yaml"), "distrust");
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "not_trusted", exitCode: 78 });
    expect(refused.hint).toContain("touchstoned init");
  });

  it("a station with a line break in its name", async () => {
    const world = serviceWorld("linux");
    const station = join(world.home, "two\nlines");
    mkdirSync(station);
    writeFileSync(join(station, "touchstoned.yaml"), "");
    expect(await refusal(install(world, { station }))).toMatchObject({ code: "odd_path" });
  });

  it("a file where the program is to go", async () => {
    const world = serviceWorld("linux");
    mkdirSync(join(world.home, ".local"));
    writeFileSync(join(world.home, ".local/lib"), "");
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "cannot_write", exitCode: 1 });
    expect(refused.message).toContain(".local/lib");
  });

  it("systemd that does not start it: its own words, and where to look", async () => {
    const world = serviceWorld("linux");
    const said =
      "Job for touchstoned.service failed because the control process exited with error code.";
    world.fault("systemctl", "--user restart*", { code: 1, stderr: said });
    const refused = await refusal(install(world));
    expect(refused).toMatchObject({ code: "service_manager", exitCode: 69 });
    expect(refused.message).toContain("Job for touchstoned.service failed");
    expect(refused.hint).toContain("touchstoned logs");
    // Once that is mended, the same command goes on.
    expect((await install(world)).service?.running).toBe(true);
  });
});
