import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bootMachine, type Machine } from "./harness/machine.ts";
import { TREE } from "./harness/tree.ts";

describe("the machine that these tests use", () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await bootMachine({ name: "probe", layers: [TREE] });
    await machine.must("useradd --create-home --shell /bin/bash alice");
  });
  afterAll(() => machine.destroy());

  it("gives output, errors and exit status of a command, in the user's home", async () => {
    const ran = await machine.run('cd; pwd; name=x; echo "$name $HOME"; echo no >&2; exit 7', {
      user: "alice",
    });
    expect(ran).toEqual({ code: 7, stdout: "/home/alice\nx /home/alice\n", stderr: "no\n" });
  });

  it("gives a login its session and its user manager", async () => {
    const out = await machine.must("systemctl --user is-system-running; echo $XDG_RUNTIME_DIR", {
      user: "alice",
    });
    expect(out).toBe("running\n/run/user/1000\n");
  });

  it("keeps its files over a reboot and a cut of power, and is another boot", async () => {
    const boot = (): Promise<string> => machine.must("cat /proc/sys/kernel/random/boot_id");
    const first = await boot();
    await machine.must("echo kept > /var/kept; sync");
    await machine.reboot();
    expect(await machine.must("cat /var/kept")).toBe("kept\n");
    const second = await boot();
    await machine.cutPower();
    expect(await machine.must("cat /var/kept")).toBe("kept\n");
    expect(new Set([first, second, await boot()]).size).toBe(3);
  });

  it("says what a wait was for, and what the command said, when it was in vain", async () => {
    const wait = machine.until("a miracle", "echo not yet; false", { limit_s: 1 });
    await expect(wait).rejects.toThrow(/in vain for a miracle[^]*not yet[^]*--- journal/);
  });
});
