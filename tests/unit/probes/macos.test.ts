import { describe, expect, it } from "vitest";
import { parsePmset, parseThermalLevel, thermalPressure } from "../../../src/probes/macos/power.ts";
import { familyMemory } from "../../../src/probes/macos/process-memory.ts";
import { parseDisplays } from "../../../src/probes/macos/profile.ts";
import { macPressure, parseSwapUsage } from "../../../src/probes/macos/sysctl.ts";
import { parseVmStat, usedBytes } from "../../../src/probes/macos/vm-stat.ts";
import { recorded } from "../../helpers/probe-samples.ts";

const stat = (name: string) => {
  const parsed = parseVmStat(recorded(`macos/vm_stat/${name}.txt`));
  if (parsed === undefined) throw new Error(`${name} was not understood`);
  return parsed;
};

describe("vm_stat", () => {
  const GIB = 2 ** 30;

  it("counts a model that the GPU holds as used, and no file cache", () => {
    // 20 GB are wired by the model; 92351 pages of files are not in it.
    const used = usedBytes(stat("03-macos27-mte-tagged-after")) ?? 0;
    expect(used).toBe((83470 - 1863) * 16384 + 21376663552 + 2816606208);
    expect(used).toBeGreaterThan(23 * GIB);
    expect(usedBytes(stat("07-m1pro-32g-macos14")) ?? 0).toBeLessThan(32 * GIB);
  });

  it("is unknown where a line or the page size is missing", () => {
    expect(parseVmStat("Pages free: 10.\n")).toBeUndefined();
    const cut = parseVmStat("(page size of 4096 bytes)\nPages wired down: 10.\n");
    expect(cut === undefined ? 0 : usedBytes(cut)).toBeNull();
  });
});

describe("swap", () => {
  it("is unknown where an amount is missing", () => {
    expect(parseSwapUsage("vm.swapusage: total = 1.00M  used = 0.00M")).toBeUndefined();
    expect(parseSwapUsage("")).toBeUndefined();
  });
});

const percent = (free: number) => macPressure(`System-wide memory free percentage: ${free}%\n`);

const kernel = (level: number) => macPressure(`kern.memorystatus_vm_pressure_level: ${level}\n`);

describe("memory pressure", () => {
  it("goes by the kernel's own level where it is told", () => {
    expect(kernel(1).value).toBe("normal");
    expect(kernel(2).value).toBe("warn");
    expect(kernel(4).value).toBe("critical");
    expect(kernel(3).reason).toContain("3");
  });

  it("goes by the free percentage else, and is unknown without it", () => {
    expect(macPressure(recorded("macos/memory_pressure/03-quiet-36g-79pct.txt")).value).toBe(
      "normal",
    );
    expect(percent(30).value).toBe("normal");
    expect(percent(29).value).toBe("warn");
    expect(percent(9).value).toBe("critical");
    const cut = macPressure(recorded("macos/memory_pressure/04-first-line-only-8g.txt"));
    expect(cut.value).toBeNull();
  });
});

describe("thermal pressure", () => {
  it.each([
    ["macos/powermetrics-thermal/01-m4-air-nominal.txt", "Nominal"],
    ["macos/powermetrics-thermal/03-heavy-with-tasks.txt", "Heavy"],
    ["macos/powermetrics-thermal/04-cpu-power-then-thermal-two-samples.txt", "Nominal"],
    ["macos/powermetrics-plist/01-m1-nominal.txt", "Nominal"],
  ])("reads %s", (path, level) => {
    expect(thermalPressure(recorded(path))).toBe(level);
  });

  it("is told by one line of each block and by no other", () => {
    const text = recorded("macos/powermetrics-thermal/04-cpu-power-then-thermal-two-samples.txt");
    const levels = text.split("\n").map((line) => thermalPressure(line));
    expect(levels.filter((level) => level !== null)).toEqual(["Nominal"]);
  });
});

describe("notifyutil", () => {
  it.each([
    ["com.apple.system.thermalpressurelevel 0\n", "Nominal"],
    ["com.apple.system.thermalpressurelevel 2\n", "Heavy"],
    ["com.apple.system.thermalpressurelevel 9\n", null],
    ["", null],
  ])("reads %j", (text, level) => {
    expect(parseThermalLevel(text).value).toBe(level);
  });
});

describe("pmset", () => {
  it.each([
    ["AC", "ac"],
    ["Battery", "battery"],
    ["UPS", "battery"],
  ])("knows %s power", (word, source) => {
    const text = `Now drawing from '${word} Power'\n -InternalBattery-0\t81%; discharging\n`;
    expect(parsePmset(text).value).toBe(source);
  });

  it("is unknown where pmset says nothing", () => {
    expect(parsePmset("").reason).toContain("pmset");
  });
});

describe("ps", () => {
  const PS =
    "    1     0  13000\n  500     1   1000\n  501   500    200\n  502   501     30\n  9 1 7\n";

  it("sums a process and all below it", () => {
    expect(familyMemory(PS, 500).value).toBe(1.26);
    expect(familyMemory(PS, 502).value).toBe(0.031);
  });

  it("is unknown for a process that is not listed", () => {
    expect(familyMemory(PS, 77).reason).toBe("process 77 has ended");
    expect(familyMemory("", 1).reason).toContain("no process");
  });
});

describe("identity", () => {
  it("lists two GPUs, and none where nothing is understood", () => {
    const text = "  Chipset Model: Intel Iris Pro\n  Bus: x\n\n  Chipset Model: AMD Radeon R9\n";
    expect(parseDisplays(text).map((gpu) => gpu.model)).toEqual([
      "Intel Iris Pro",
      "AMD Radeon R9",
    ]);
    expect(parseDisplays("{ broken")).toEqual([]);
    expect(parseDisplays("{}")).toEqual([]);
  });
});
