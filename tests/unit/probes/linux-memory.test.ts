import { describe, expect, it } from "vitest";
import { counter, hostMemory, parseMemInfo, swapUsed } from "../../../src/probes/linux/memory.ts";
import { recorded } from "../../helpers/probe-samples.ts";

describe("parseMemInfo", () => {
  it("knows nothing of an empty file", () => {
    expect(Object.values(parseMemInfo(""))).toEqual([null, null, null, null, null, null]);
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
  it("takes whole names only", () => {
    expect(counter("total_cache 1\ncache 2\n", "cache")).toBe(2);
    expect(counter("cache 3\n", "cache")).toBe(3);
    expect(counter("cache many\n", "cache")).toBeNull();
  });
});
