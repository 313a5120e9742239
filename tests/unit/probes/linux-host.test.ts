import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHostSampler, readPower } from "../../../src/probes/index.ts";
import { CpuShare, parseCpuLine } from "../../../src/probes/cpu.ts";
import { KeptFile } from "../../../src/probes/linux/kept-file.ts";
import { parsePressure, pressureLevel } from "../../../src/probes/linux/pressure.ts";
import { pageSize, parentOf, ServerMemory } from "../../../src/probes/linux/server-memory.ts";
import { ThrottleWatch } from "../../../src/probes/linux/throttle.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { plant, recorded, unbundle } from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("KeptFile", () => {
  it("reads a file again and again, also when it outgrows the buffer", () => {
    const root = tempDir();
    plant(root, { "/f": "one" });
    const file = new KeptFile(join(root, "f"), 4);
    expect(file.read()).toBe("one");
    plant(root, { "/f": "much longer than four" });
    expect(file.readHead()).toBe("much");
    expect(file.read()).toBe("much longer than four");
    file.close();
    file.close();
  });

  it("throws while there is no file and finds it when it comes", () => {
    const root = tempDir();
    const file = new KeptFile(join(root, "f"));
    expect(() => file.read()).toThrow("ENOENT");
    plant(root, { "/f": "here" });
    expect(file.read()).toBe("here");
    file.close();
  });
});

const stall = (some: number, full: number) =>
  `some avg10=${some.toFixed(2)} avg60=1.00 avg300=1.00 total=9\n` +
  `full avg10=${full.toFixed(2)} avg60=2.00 avg300=1.00 total=9\n`;

describe("pressure", () => {
  it("reads the averages over ten seconds", () => {
    expect(parsePressure(stall(12.34, 5.6))).toEqual({
      some_avg10_pct: 12.34,
      full_avg10_pct: 5.6,
    });
  });

  it.each([
    [0, 0, "normal"],
    [9.99, 9.99, "normal"],
    [10, 0, "warn"],
    [99, 9.99, "warn"],
    [10, 10, "critical"],
  ])("calls some %d and full %d %s", (some, full, level) => {
    expect(pressureLevel(parsePressure(stall(some, full))).value).toBe(level);
  });

  it("is unknown without both lines", () => {
    expect(pressureLevel(parsePressure("some avg10=0.00\n")).reason).toContain("avg10");
  });
});

describe("cpu share", () => {
  it("is unknown at first, then the share since the last look", () => {
    const share = new CpuShare();
    const at = (text: string) => share.next(parseCpuLine(text) ?? { busy: 0, total: 0 });
    expect(at("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1\n").reason).toContain("first sample");
    // 100 ticks later: 25 of them busy, 50 idle, 25 waiting for a disk.
    expect(at("cpu  120 0 105 750 125 0 0 0 0 0\n").value).toBe(25);
    expect(at("cpu  120 0 105 750 125 0 0 0 0 0\n").reason).toContain("no time");
  });

  it("does not count guests twice and refuses other lines", () => {
    expect(parseCpuLine("cpu  10 0 0 90 0 0 0 0 10 0\n")).toEqual({ busy: 10, total: 100 });
    expect(parseCpuLine("intr 1 2 3 4 5\n")).toBeUndefined();
    expect(parseCpuLine("cpu\n")).toBeUndefined();
  });
});

function auxv(page: number): string {
  const bytes = Buffer.alloc(48);
  bytes.writeBigUInt64LE(16n, 0);
  bytes.writeBigUInt64LE(6n, 16);
  bytes.writeBigUInt64LE(BigInt(page), 24);
  return bytes.toString("latin1");
}

function processFiles(pid: number, parent: number, pages: number): Record<string, string> {
  return {
    [`/proc/${pid}/stat`]: `${pid} (a ) b) S ${parent} 1 1 0 -1\n`,
    [`/proc/${pid}/statm`]: `9999 ${pages} 10 1 0 100 0\n`,
  };
}

describe("server memory", () => {
  it("finds page size and parent", () => {
    expect(pageSize(Buffer.from(auxv(4096), "latin1"))).toBe(4096);
    expect(pageSize(Buffer.alloc(0))).toBe(4096);
    expect(parentOf("12 (we ) ird) S 34 5 6")).toBe(34);
  });

  it("sums the tree and meets new children at the next refresh", () => {
    const root = tempDir();
    const clock = new FakeClock();
    plant(root, {
      "/proc/self/auxv": auxv(4096),
      ...processFiles(10, 1, 1000),
      ...processFiles(11, 10, 100),
      ...processFiles(12, 11, 10),
      ...processFiles(20, 1, 50_000),
    });
    const memory = new ServerMemory(10, root, clock);
    expect(memory.read().value).toBeCloseTo((1110 * 4096) / 1e6, 2);
    plant(root, processFiles(13, 10, 1));
    expect(memory.read().value).toBeCloseTo((1110 * 4096) / 1e6, 2);
    clock.advance(5000);
    expect(memory.read().value).toBeCloseTo((1111 * 4096) / 1e6, 3);
    memory.close();
  });

  it("leaves out a child that ended", () => {
    const root = tempDir();
    const clock = new FakeClock();
    plant(root, {
      "/proc/self/auxv": auxv(4096),
      ...processFiles(10, 1, 1000),
      ...processFiles(11, 10, 100),
    });
    const memory = new ServerMemory(10, root, clock);
    expect(memory.read().value).toBeCloseTo((1100 * 4096) / 1e6, 2);
    plant(root, { "/proc/11/statm": "0 0 0 0 0 0 0\n" });
    rmSync(join(root, "proc/11/stat"));
    expect(memory.read().value).toBeCloseTo((1000 * 4096) / 1e6, 2);
    memory.close();
  });

  it("stays ended once the server has ended, whoever has its number later", () => {
    const root = tempDir();
    const clock = new FakeClock();
    plant(root, { "/proc/self/auxv": auxv(4096), ...processFiles(10, 1, 1000) });
    const memory = new ServerMemory(10, root, clock);
    plant(root, { "/proc/10/statm": "0 0 0 0 0 0 0\n" });
    expect(memory.read()).toEqual({ value: null, reason: "process 10 has ended" });
    plant(root, processFiles(10, 1, 1000));
    clock.advance(60_000);
    expect(memory.read().reason).toBe("process 10 has ended");
  });
});

const COUNTER = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";

describe("throttling", () => {
  it("is unknown where the machine has no means to tell", () => {
    const watch = new ThrottleWatch(tempDir(), new FakeClock());
    expect(watch.read().reason).toContain("neither throttle counters nor");
  });

  it("is true while a counter grows, looked at every two seconds", () => {
    const root = tempDir();
    const clock = new FakeClock();
    plant(root, { [COUNTER]: "5\n" });
    const watch = new ThrottleWatch(root, clock);
    expect(watch.read().reason).toContain("first sample");
    expect(watch.read().value).toBe(false);
    plant(root, { [COUNTER]: "6\n" });
    expect(watch.read().value).toBe(false);
    clock.advance(2000);
    expect(watch.read().value).toBe(true);
    // Sticky until the next look: an event between two looks is never lost.
    clock.advance(1999);
    expect(watch.read().value).toBe(true);
    clock.advance(1);
    expect(watch.read().value).toBe(false);
    watch.close();
  });

  it("is true while a cooling device of the processor is at work, and minds no fan", () => {
    const root = tempDir();
    const device = "/sys/class/thermal/cooling_device";
    plant(root, {
      [`${device}0/type`]: "Fan\n",
      [`${device}0/cur_state`]: "7\n",
      [`${device}1/type`]: "Processor\n",
      [`${device}1/cur_state`]: "0\n",
    });
    const watch = new ThrottleWatch(root, new FakeClock());
    expect(watch.read().value).toBe(false);
    plant(root, { [`${device}1/cur_state`]: "2\n" });
    expect(watch.read().value).toBe(true);
    watch.close();
  });
});

const SUPPLY = "/sys/class/power_supply";

const power = (files: Record<string, string>) => {
  const root = tempDir();
  plant(root, { [`${SUPPLY}/none`]: "", "/proc/cpuinfo": "flags\t\t: fpu vme\n", ...files });
  return readPower({ platform: "linux", root });
};

const battery = (status: string) =>
  power({ [`${SUPPLY}/BAT0/type`]: "Battery\n", [`${SUPPLY}/BAT0/status`]: `${status}\n` });

describe("power", () => {
  it("reads a recorded laptop on battery", async () => {
    const files = unbundle(recorded("linux/power_supply/01-thinkpad-bat0-ac-offline.txt"));
    expect(await power(files)).toEqual({ source: "battery", reason: null });
    const plugged = { ...files, [`${SUPPLY}/AC/online`]: "1\n" };
    expect(await power(plugged)).toEqual({ source: "ac", reason: null });
  });

  it("goes by the battery where no mains supply is listed", async () => {
    expect((await battery("Discharging")).source).toBe("battery");
    expect((await battery("Full")).source).toBe("ac");
    expect(await battery("Unknown")).toMatchObject({ source: null });
  });

  it("minds no battery of a mouse", async () => {
    const read = await power({
      [`${SUPPLY}/mouse/type`]: "Battery\n",
      [`${SUPPLY}/mouse/scope`]: "Device\n",
      [`${SUPPLY}/mouse/status`]: "Discharging\n",
    });
    expect(read.source).toBe("ac");
  });

  it("takes a machine without any battery for one on mains, unless it is virtual", async () => {
    expect(await power({})).toEqual({ source: "ac", reason: null });
    expect((await power({ "/proc/cpuinfo": "flags : fpu hypervisor\n" })).source).toBeNull();
    const guest = await power({ "/sys/class/dmi/id/sys_vendor": "QEMU\n" });
    expect(guest.reason).toContain("virtual machine");
  });

  it("is unknown where the folder cannot be read", async () => {
    const read = await readPower({ platform: "linux", root: tempDir() });
    expect(read).toMatchObject({ source: null, reason: expect.stringContaining("ENOENT") });
    expect((await readPower({ platform: "win32" })).reason).toContain("win32");
  });
});

describe("a host that tells nothing", () => {
  it.each(["linux", "freebsd"] as const)(
    "gives null and a reason for each field on %s",
    (platform) => {
      const sampler = createHostSampler({
        server_pid: null,
        clock: new FakeClock(),
        platform,
        root: tempDir(),
        env: { PATH: "" },
      });
      const { ts, unavailable, ...fields } = sampler.sample();
      sampler.close();
      expect(ts).toBe(Date.UTC(2026, 0, 15, 20) / 1000);
      expect(new Set(Object.values(fields))).toEqual(new Set([null]));
      expect(Object.keys(unavailable).sort()).toEqual(Object.keys(fields).sort());
    },
  );

  it("keeps what it can read beside what it cannot", () => {
    const root = tempDir();
    plant(root, {
      "/proc/meminfo": recorded("linux/proc-meminfo/07-jc-ubuntu-4g.txt"),
      "/proc/vmstat": "pswpout 1000\n",
      "/proc/self/cgroup": "0::/\n",
      "/proc/self/mountinfo": "",
    });
    const options = { clock: new FakeClock(), platform: "linux", root, env: { PATH: "" } } as const;
    const sampler = createHostSampler({ server_pid: 77, ...options });
    const sample = sampler.sample();
    sampler.close();
    expect(sample.sys_used_mb).toBeCloseTo(625.046, 3);
    expect(sample.swapped_out_mb).toBe(4.096);
    expect(sample.unavailable["server_rss_mb"]).toContain("ENOENT");
    expect(sample.unavailable["mem_pressure_level"]).toContain("no pressure stall information");
  });

  it("reads the memory of AMD cards from the driver's files", () => {
    const root = tempDir();
    const card = "/sys/class/drm/card";
    plant(root, {
      [`${card}0/device/mem_info_vram_used`]: "1572745216\n",
      [`${card}1/device/vendor`]: "0x8086\n",
      [`${card}0-DP-1/status`]: "connected\n",
    });
    const options = { clock: new FakeClock(), platform: "linux", root, env: { PATH: "" } } as const;
    const sampler = createHostSampler({ server_pid: null, ...options });
    expect(sampler.sample().gpu_used_mb).toBe(1572.745);
    sampler.close();
  });
});
