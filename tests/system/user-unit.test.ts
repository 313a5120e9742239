import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FIRST, QUESTIONS, SECOND, THIRD } from "./harness/person.ts";
import { openScene, type Scene } from "./harness/scene.ts";
import { processesOf } from "./harness/traces.ts";

describe("a service of one user", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene("alice");
  });
  afterAll(() => scene.machine.destroy());

  it("shows what it would do, and does nothing, with --dry-run", async () => {
    const shown = await scene.someone.does("cd station && touchstoned install --dry-run");
    expect(shown).toContain("/home/alice/.config/systemd/user/touchstoned.service");
    expect(shown).toContain("loginctl enable-linger alice");
    expect((await scene.traces()).filter((line) => !/\.(cache|local\/state)\//.test(line))).toEqual(
      [],
    );
  });

  it("is installed in a login, lingers, and lives on when that ends", async () => {
    await scene.someone.does("cd station && touchstoned install");
    expect(await scene.machine.must("loginctl show-user alice --value --property=Linger")).toBe(
      "yes\n",
    );
    const running = await scene.daemons();
    expect(running).toHaveLength(1);
    await scene.machine.until(
      "no session of alice",
      "! loginctl list-sessions --no-legend | grep -q alice",
    );
    expect(await scene.daemons()).toEqual(running);
    expect(await scene.someone.does("systemctl --user is-enabled touchstoned")).toBe("enabled\n");
    const verify = "systemd-analyze --user verify ~/.config/systemd/user/touchstoned.service 2>&1";
    expect(await scene.someone.does(verify)).toBe("");
  });

  it("runs a file that is dropped", async () => {
    await scene.server.forget();
    await scene.someone.drops("plain.json");
    await scene.someone.sees("plain.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("hands the running step over at touchstoned restart", async () => {
    await scene.midJob("handed-over.json");
    const old = await scene.daemons();
    const running = await scene.step();
    await scene.someone.does("touchstoned restart");
    expect(await scene.daemons()).not.toEqual(old);
    expect(await scene.step()).toBe(running);
    await scene.finish("handed-over.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("comes up after a reboot before anybody logs in, and goes on with its job", async () => {
    await scene.midJob("rebooted.json");
    await scene.machine.cutPower();
    await scene.machine.until("a daemon", "pgrep -u alice -f 'main.js daemon'");
    expect(
      await scene.machine.must("loginctl list-sessions --no-legend | grep alice || true"),
    ).toBe("");
    await scene.finish("rebooted.json");
    expect(await scene.server.asked()).toEqual([FIRST, SECOND, SECOND, THIRD]);
    expect(await scene.someone.does("cd station && touchstoned fsck")).toContain("sound");
  });

  it("is taken away without a trace; the station stays", async () => {
    await scene.someone.does("touchstoned uninstall --purge --runs --yes");
    // Linger stays: other services of hers may need it by now.
    expect(await scene.traces()).toEqual(["+ lingers: alice"]);
    expect(await processesOf(scene.machine)).toEqual([]);
  });
});
