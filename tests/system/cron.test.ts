import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { QUESTIONS } from "./harness/person.ts";
import { openScene, type Scene } from "./harness/scene.ts";
import { processesOf } from "./harness/traces.ts";

const OWN = "0 4 1 1 * true # her own";

describe("a line of cron", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene("carol", `echo '${OWN}' | crontab -`);
  });
  afterAll(() => scene.machine.destroy());

  /** How often the daemon of cron has started the launcher since it was started itself. */
  const STARTS = "journalctl -u fast-cron --no-pager | grep -c 'CMD.*launch'";

  it("is put beside the user's own lines", async () => {
    await scene.someone.does("cd station && touchstoned install --cron");
    const crontab = await scene.someone.does("crontab -l");
    expect(crontab).toContain(OWN);
    expect(crontab).toMatch(/^@reboot /m);
    expect(crontab).toMatch(/^\*\/5 \* \* \* \* /m);
  });

  it("starts the daemon at boot", async () => {
    await scene.machine.reboot();
    await scene.machine.until("a daemon", "pgrep -u carol -f 'main.js daemon'");
    await scene.someone.drops("plain.json");
    await scene.someone.sees("plain.json");
    expect(await scene.server.asked()).toEqual(QUESTIONS);
  });

  it("starts no second one, however often its time comes", async () => {
    const running = await scene.daemons();
    expect(running).toHaveLength(1);
    // Debian's own cron, for which a minute takes a second.
    await scene.machine.must(
      "systemctl stop cron && systemd-run --quiet --unit=fast-cron faketime -f '+0 x60' cron -f",
    );
    await scene.machine.until("three turns of cron", `test "$(${STARTS})" -ge 3`);
    expect(await scene.daemons()).toEqual(running);
  });

  it("starts another one when the first was killed", async () => {
    const [killed] = await scene.daemons();
    await scene.machine.must(`kill -KILL ${killed}`);
    await scene.machine.until("another daemon", "pgrep -u carol -f 'main.js daemon'");
    expect(await scene.daemons()).not.toContain(killed);
    const turns = Number(await scene.machine.must(STARTS));
    await scene.machine.until("three more turns", `test "$(${STARTS})" -ge ${turns + 3}`);
    expect(await scene.daemons()).toHaveLength(1);
  });

  it("is taken out without a trace; the user's own lines and the station stay", async () => {
    await scene.someone.does("touchstoned uninstall --purge --runs --yes");
    expect(await scene.someone.does("crontab -l")).toBe(`${OWN}\n`);
    expect(await scene.traces()).toEqual([]);
    const turns = Number(await scene.machine.must(STARTS));
    expect(await processesOf(scene.machine)).toEqual([]);
    expect(turns).toBeGreaterThan(5);
  });
});
