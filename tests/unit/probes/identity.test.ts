import { hostname, userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { displayVendors } from "../../../src/probes/linux/bus.ts";
import { boardName, parseCpuInfo, parseOsRelease } from "../../../src/probes/linux/identity.ts";
import { readHostIdentity, usedMemoryMb } from "../../../src/probes/index.ts";
import { plant, recorded, unbundle } from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("os-release", () => {
  it("skips comments and takes all quotes", () => {
    const quoted = parseOsRelease("# ID=no\nID='one'\nPRETTY_NAME=\"My OS 1\"\nVERSION_ID=\n");
    expect(quoted).toEqual({
      id: "one",
      version_id: null,
      codename: null,
      pretty_name: "My OS 1",
    });
  });
});

describe("cpuinfo", () => {
  it("knows a virtual machine and a board", () => {
    expect(parseCpuInfo(recorded("linux/proc-cpuinfo/07-i5-8279u-vmware.txt")).hypervisor).toBe(
      true,
    );
    const odroid = parseCpuInfo(recorded("linux/proc-cpuinfo/03-odroid-xu4.txt"));
    expect(odroid).toMatchObject({ processors: 8, hardware: "ODROID-XU4", hypervisor: false });
  });
});

const board = (files: Record<string, string>) => {
  const root = tempDir();
  plant(root, files);
  return boardName(root);
};

describe("board", () => {
  it.each(["03-dell-r6515-root", "04-dell-r6515-binary-product_version"])("reads %s", (name) => {
    const text = recorded(`linux/dmi-id/${name}.txt`);
    expect(board(unbundle(text))).toBe("Dell Inc. PowerEdge R6515");
  });

  it("takes the device tree's model, without its NUL, where there is no DMI", () => {
    const model = "StarFive VisionFive 2 v1.3B\0";
    expect(board({ "/proc/device-tree/model": model })).toBe("StarFive VisionFive 2 v1.3B");
    expect(board({})).toBeNull();
  });

  it("survives firmware that holds any bytes", () => {
    expect(board({ "/sys/class/dmi/id/product_name": "\u0001\uFFFD\u001B\n" })).toBeNull();
  });
});

const host = (files: Record<string, string>) => {
  const root = tempDir();
  plant(root, files);
  return readHostIdentity({ platform: "linux", root, env: { PATH: "" } });
};

describe("readHostIdentity on Linux", () => {
  it("names system, chip and cores from files", async () => {
    const identity = await host({
      "/etc/os-release": recorded("linux/os-release/03-debian-13.txt"),
      "/proc/cpuinfo": recorded("linux/proc-cpuinfo/09-epyc-7451.txt"),
    });
    expect(identity).toMatchObject({
      os: "Debian GNU/Linux 13 (trixie)",
      chip: "AMD EPYC 7451 24-Core Processor",
      gpus: [],
      node: process.version,
    });
    expect(identity.ram_gb).toBeGreaterThan(0);
  });

  it("takes the board's chip where the processor is named by its instruction set alone", async () => {
    const cpuinfo = recorded("linux/proc-cpuinfo/01-rpi1-bcm2835-rev0010.txt");
    expect((await host({ "/proc/cpuinfo": cpuinfo })).chip).toBe("BCM2835");
  });

  it("takes the board where the processor has no name", async () => {
    const identity = await host({
      "/proc/cpuinfo": recorded("linux/proc-cpuinfo/10-riscv-visionfive2.txt"),
      "/proc/device-tree/model": "StarFive VisionFive 2\0",
    });
    expect(identity).toMatchObject({ os: null, chip: "StarFive VisionFive 2" });
  });

  it("does not say that there is no GPU where there is one it cannot ask", async () => {
    const identity = await host({
      "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
      "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
    });
    expect(identity.gpus).toBeNull();
  });

  it("finds display controllers among the PCI devices", () => {
    const root = tempDir();
    const pci = "/sys/bus/pci/devices/0000:0";
    plant(root, {
      [`${pci}0:00.0/class`]: "0x060000\n",
      [`${pci}0:00.0/vendor`]: "0x8086\n",
      [`${pci}1:00.0/class`]: "0x030200\n",
      [`${pci}1:00.0/vendor`]: "0x10de\n",
      [`${pci}2:00.0/class`]: "0x030000\n",
      [`${pci}2:00.0/vendor`]: "0x1234\n",
      [`${pci}3:00.0/other`]: "",
    });
    expect(displayVendors(root)).toEqual(["nvidia", "0x1234"]);
    expect(displayVendors(tempDir())).toEqual([]);
  });
});

describe("this very machine", () => {
  it("is named without its host's or its user's name", async () => {
    const identity = await readHostIdentity();
    const text = JSON.stringify(identity);
    expect(identity.os).not.toBeNull();
    expect(identity.cores).toBeGreaterThan(0);
    // A name that is a word of the system's own ("debian") proves nothing either way.
    const telling = [hostname(), userInfo().username].filter(
      (name) => name.length > 3 && !/debian|ubuntu|linux|node|root/i.test(name),
    );
    expect(telling.filter((name) => text.includes(name))).toEqual([]);
  });

  it("has a plausible amount of memory in use", () => {
    const used = usedMemoryMb();
    expect(used === null || used > 10).toBe(true);
  });
});
