import { describe, expect, it } from "vitest";
import { counter, hostMemory, parseMemInfo, swapUsed } from "../../../src/probes/linux/memory.ts";
import { recorded } from "../../helpers/probe-samples.ts";

describe("parseMemInfo", () => {
  it.each([
    ["01-facter-4.18-4g", 4133560320, 3747147776, 3632939008, 2147479552, 2147479552],
    ["03-elastic-oldkern", 63120797696, null, 25673170944, 8589930496, 8588095488],
    ["04-node-exporter-4g", 3831959552, null, 230883328, 4294963200, 3231088640],
    ["06-gopsutil-old-table", 260579328, 215199744, 124506112, 0, 0],
    ["07-jc-ubuntu-4g", 4093206528, 3468161024, 2826563584, 4092588032, 4092588032],
    ["10-local-24g", 25276510208, 24497602560, 18148265984, 0, 0],
  ])("reads %s", (name, total, available, free, swapTotal, swapFree) => {
    expect(parseMemInfo(recorded(`linux/proc-meminfo/${name}.txt`))).toEqual({
      total_bytes: total,
      available_bytes: available,
      free_bytes: free,
      swap_total_bytes: swapTotal,
      swap_free_bytes: swapFree,
    });
  });

  it("reads 09-rhel-8g", () => {
    expect(parseMemInfo(recorded("linux/proc-meminfo/09-rhel-8g.txt"))).toMatchObject({
      total_bytes: 8202149888,
      available_bytes: 6983921664,
      free_bytes: 551690240,
    });
  });

  it("knows nothing of an empty file", () => {
    expect(Object.values(parseMemInfo(""))).toEqual([null, null, null, null, null]);
  });
});

describe("hostMemory", () => {
  it("is total less available, in megabytes of 10^6 bytes", () => {
    const info = parseMemInfo(recorded("linux/proc-meminfo/07-jc-ubuntu-4g.txt"));
    expect(hostMemory(info).used_mb.value).toBeCloseTo(625.046, 3);
    expect(hostMemory(info).available_mb.value).toBeCloseTo(3468.161, 3);
  });

  it("is unknown, not zero, where the kernel does not tell what is available", () => {
    const info = parseMemInfo(recorded("linux/proc-meminfo/03-elastic-oldkern.txt"));
    expect(hostMemory(info).used_mb).toEqual({
      value: null,
      reason: "/proc/meminfo has no MemAvailable (kernel before 3.14)",
    });
    expect(hostMemory(parseMemInfo("")).available_mb.reason).toContain("MemTotal");
  });
});

it("swapUsed is unknown where swap is not listed", () => {
  const info = parseMemInfo(recorded("linux/proc-meminfo/04-node-exporter-4g.txt"));
  expect(swapUsed(info).value).toBeCloseTo((4294963200 - 3231088640) / 1e6, 3);
  expect(swapUsed(parseMemInfo("MemTotal: 1 kB\n")).reason).toContain("SwapTotal");
});

describe("counter", () => {
  it.each([
    ["01-jc-ubuntu", 1713],
    ["03-local", 848],
  ])("reads /proc/vmstat of %s", (name, pgmajfault) => {
    const text = recorded(`linux/proc-vmstat/${name}.txt`);
    expect(counter(text, "pswpin")).toBe(0);
    expect(counter(text, "pswpout")).toBe(0);
    expect(counter(text, "pgmajfault")).toBe(pgmajfault);
    expect(counter(text, "nr_no_such_thing")).toBeNull();
  });

  it("takes whole names only", () => {
    expect(counter("total_cache 1\ncache 2\n", "cache")).toBe(2);
    expect(counter("cache 3\n", "cache")).toBe(3);
    expect(counter("cache many\n", "cache")).toBeNull();
  });
});
