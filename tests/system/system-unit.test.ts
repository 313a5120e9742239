import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BROKEN_VERSION, NEXT_VERSION } from "./harness/layers.ts";
import { FIRST, QUESTIONS, SECOND, THIRD } from "./harness/person.ts";
import { openScene, type Scene } from "./harness/scene.ts";
import { processesOf } from "./harness/traces.ts";

const STATION = "/home/bench/station";
const SHOW = "systemctl show touchstoned --value --property";
/** As the newer version's own command; the program in PATH stays the old one. */
const upgrade = (which: "next" | "broken"): string =>
  `/usr/local/bin/node /opt/${which}/touchstoned/dist/cli/main.js upgrade --system`;

describe("a service of the system", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene("bench");
  });
  afterAll(() => scene.machine.destroy());

  const root = (script: string, limit_s = 60): Promise<string> =>
    scene.machine.must(script, { limit_s });
  const daemon = async (): Promise<string> => (await root(`${SHOW}=MainPID`)).trim();
  const soundness = (): Promise<string> => scene.someone.does("cd station && touchstoned fsck");

  it("is refused to root without a name, and to one who is not root", async () => {
    const asRoot = await scene.machine.run("touchstoned install --system");
    expect(asRoot).toMatchObject({ code: 3 });
    expect(asRoot.stderr).toContain("--run-as");
    const asUser = await scene.machine.run("touchstoned install --system", { user: "bench" });
    expect(asUser).toMatchObject({ code: 3 });
    expect(asUser.stderr).toContain("sudo");
    expect((await scene.machine.run("ls /usr/local/lib/touchstoned")).code).not.toBe(0);
  });

  it("is installed, and ready when the command is back", async () => {
    await root(`touchstoned install --system --run-as bench --station ${STATION}`);
    expect(await root("systemctl is-active touchstoned; systemctl is-enabled touchstoned")).toBe(
      "active\nenabled\n",
    );
    expect(await root(`${SHOW}=Type,NotifyAccess,StatusText`)).toMatch(/notify[^]*\S/);
    expect(await root(`ps -o user= -p ${await daemon()}`)).toBe("bench\n");
    const verified = await scene.machine.run("systemd-analyze verify touchstoned.service");
    expect(verified).toMatchObject({ code: 0, stderr: "" });
  });

  it("is left as it is by a second install", async () => {
    const pid = await daemon();
    await root(`touchstoned install --system --run-as bench --station ${STATION}`);
    expect(await daemon()).toBe(pid);
  });

  it("runs a file that is dropped, on a real llama-server", async () => {
    await scene.someone.drops("real.json", "tiny");
    await scene.someone.sees("real.json");
    expect(await soundness()).toContain("sound");
  });

  it("lets the running step end at systemctl restart, and asks nothing twice", async () => {
    await scene.midJob("restarted.json");
    const pid = await daemon();
    await root("systemctl restart --no-block touchstoned");
    await scene.machine.until("a daemon that stops", `test "$(${SHOW}=SubState)" = stop-sigterm`);
    await scene.finish("restarted.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
    expect(await daemon()).not.toBe(pid);
  });

  it("hands the running step over at touchstoned restart", async () => {
    await scene.midJob("handed-over.json");
    const [running, pid] = [await scene.step(), await daemon()];
    await root("touchstoned restart");
    expect(await daemon()).not.toBe(pid);
    expect(await scene.step()).toBe(running);
    await scene.finish("handed-over.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("is upgraded in mid-job", async () => {
    await scene.midJob("upgraded.json");
    const running = await scene.step();
    await root(upgrade("next"), 120);
    expect(await root("readlink -f /usr/local/lib/touchstoned/current")).toBe(
      `/usr/local/lib/touchstoned/versions/${NEXT_VERSION}\n`,
    );
    expect(await scene.step()).toBe(running);
    await scene.finish("upgraded.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("stays the old one where the new one does not start, and says why, in mid-job", async () => {
    await scene.midJob("not-broken.json");
    const failed = await scene.machine.run(upgrade("broken"), { limit_s: 200 });
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain(BROKEN_VERSION);
    expect(await root("readlink /usr/local/lib/touchstoned/current")).toContain(NEXT_VERSION);
    expect(await root("systemctl is-active touchstoned")).toBe("active\n");
    await scene.finish("not-broken.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("is ended and started again by the watchdog when its loop hangs, in mid-job", async () => {
    await root(
      `mkdir -p /etc/systemd/system/touchstoned.service.d
       printf '[Service]\\nWatchdogSec=4\\nRestartSec=1\\n' > /etc/systemd/system/touchstoned.service.d/test.conf
       systemctl daemon-reload && systemctl restart touchstoned`,
    );
    await scene.midJob("watched.json");
    const [running, pid] = [await scene.step(), await daemon()];
    await root(`kill -STOP ${pid}`);
    await scene.machine.until(
      "another daemon",
      `test "$(${SHOW}=MainPID)" -gt 0 && ! kill -0 ${pid}`,
    );
    expect(await root("journalctl -u touchstoned --no-pager")).toContain("Watchdog timeout");
    await scene.machine.until("a service that is ready", "systemctl is-active --quiet touchstoned");
    expect(await scene.step()).toBe(running);
    await scene.finish("watched.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("goes on after a reboot in mid-job", async () => {
    await scene.midJob("rebooted.json");
    await scene.machine.reboot();
    await scene.finish("rebooted.json");
    expect(await scene.server.asked()).toEqual([FIRST, SECOND, SECOND, THIRD]);
  });

  it("goes on after a cut of power in mid-job", async () => {
    await scene.midJob("unplugged.json");
    await scene.machine.cutPower();
    await scene.finish("unplugged.json");
    expect(await scene.server.asked()).toEqual([FIRST, SECOND, SECOND, THIRD]);
    expect(await soundness()).toContain("sound");
  });

  it("stops and starts when it is told to", async () => {
    await root("touchstoned stop");
    expect((await scene.machine.run("systemctl is-active touchstoned")).stdout).toBe("inactive\n");
    await root("touchstoned start");
    expect((await scene.machine.run("systemctl is-active touchstoned")).stdout).toBe("active\n");
    expect(await root("touchstoned logs")).toContain("unplugged.json");
  });

  it("is taken away without a trace; the station stays", async () => {
    // The drop-in is the person's own, and stays with them.
    await root("rm -r /etc/systemd/system/touchstoned.service.d");
    await root("touchstoned uninstall --system --purge --runs --yes");
    expect(await scene.traces()).toEqual([]);
    expect(await processesOf(scene.machine)).toEqual([]);
    expect((await scene.machine.run("systemctl cat touchstoned")).code).not.toBe(0);
    expect(await root("ls /home/bench/station/inbox/done | wc -l")).toBe("8\n");
  });
});
