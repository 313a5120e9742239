import { describe, expect, it } from "vitest";
import { parsePmset, thermalPressure } from "../../../src/probes/macos/power.ts";
import { familyMemory } from "../../../src/probes/macos/process-memory.ts";
import { parseDisplays, parseHardware, parseSwVers } from "../../../src/probes/macos/profile.ts";
import {
  macPressure,
  parseMemoryPressure,
  parseSwapUsage,
  parseSysctl,
} from "../../../src/probes/macos/sysctl.ts";
import { parseVmStat, usedBytes, vmBytes } from "../../../src/probes/macos/vm-stat.ts";
import { recorded } from "../../helpers/probe-samples.ts";

const stat = (name: string) => {
  const parsed = parseVmStat(recorded(`macos/vm_stat/${name}.txt`));
  if (parsed === undefined) throw new Error(`${name} was not understood`);
  return parsed;
};

describe("vm_stat", () => {
  const GIB = 2 ** 30;
  it.each([
    ["03-macos27-mte-tagged-after", 16384, 6674677760, 21376663552, 2816606208, 6636453888],
    ["04-mini2-32g-swapouts16", 16384, 10686889984, 2200338432, 1583284224, 3732553728],
    ["06-macos10.15-4k-heavy-compressor", 4096, 5590519808, 4042104832, 3022639104, 7823069184],
    ["07-m1pro-32g-macos14", 16384, 106037248, 2718629888, 6951337984, 23173726208],
  ])("reads %s", (name, page, free, wired, occupied, stored) => {
    const parsed = stat(name);
    expect(parsed.page_bytes).toBe(page);
    expect(vmBytes(parsed, "Pages free")).toBe(free);
    expect(vmBytes(parsed, "Pages wired down")).toBe(wired);
    expect(vmBytes(parsed, "Pages occupied by compressor")).toBe(occupied);
    expect(vmBytes(parsed, "Pages stored in compressor")).toBe(stored);
  });

  it.each([
    ["03-macos27-mte-tagged-after", 1725059, 3171828],
    ["04-mini2-32g-swapouts16", 7, 16],
    ["06-macos10.15-4k-heavy-compressor", 10474828, 10972484],
    ["07-m1pro-32g-macos14", 385871, 437651],
  ])("counts swapping of %s", (name, swapins, swapouts) => {
    expect(stat(name).counts.get("Swapins")).toBe(swapins);
    expect(stat(name).counts.get("Swapouts")).toBe(swapouts);
  });

  it("reads quoted labels and the other pages", () => {
    const parsed = stat("04-mini2-32g-swapouts16");
    expect(parsed.counts.get("Translation faults")).toBe(8304623196);
    expect(vmBytes(parsed, "Pages active")).toBe(9587834880);
    expect(vmBytes(parsed, "Pages inactive")).toBe(6725287936);
    expect(vmBytes(parsed, "Pages speculative")).toBe(3007807488);
    expect(vmBytes(parsed, "Pages purgeable")).toBe(378126336);
  });

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
  it.each([
    ["03-macos27-10g-nearly-full", 10737418240, 10160638525, 576779715],
    ["04-macos27-2g-after", 2147483648, 581561221, 1565922427],
  ])("reads %s", (name, total_bytes, used_bytes, free_bytes) => {
    const text = recorded(`macos/sysctl-vm.swapusage/${name}.txt`);
    expect(parseSwapUsage(text)).toEqual({ total_bytes, used_bytes, free_bytes, encrypted: true });
  });

  it("is unknown where an amount is missing", () => {
    expect(parseSwapUsage("vm.swapusage: total = 1.00M  used = 0.00M")).toBeUndefined();
    expect(parseSwapUsage("")).toBeUndefined();
  });
});

const percent = (free: number) => macPressure(`System-wide memory free percentage: ${free}%\n`);

const kernel = (level: number) => macPressure(`kern.memorystatus_vm_pressure_level: ${level}\n`);

describe("memory pressure", () => {
  it.each([
    ["01-full-32g-88pct", 34359738368, 88],
    ["03-quiet-36g-79pct", 38654705664, 79],
    ["04-first-line-only-8g", 8589934592, null],
  ])("reads %s", (name, total_bytes, free_percent) => {
    const text = recorded(`macos/memory_pressure/${name}.txt`);
    expect(parseMemoryPressure(text)).toEqual({ total_bytes, page_bytes: 16384, free_percent });
  });

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
  it.each([
    ["01-macos27.0", "macOS", "27.0", "26A428"],
    ["03-tahoe-26.5-beta-build", "macOS", "26.5", "25F5058e"],
    ["04-osx10.12-beta-tab", "Mac OS X", "10.12", "16A239j"],
  ])("reads sw_vers %s", (name, product, version, build) => {
    expect(parseSwVers(recorded(`macos/sw_vers/${name}.txt`))).toEqual({ product, version, build });
  });

  it("reads sysctl", () => {
    const values = parseSysctl(recorded("macos/sysctl-identity/03-intel-i5-8279u-mojave.txt"));
    expect(values.get("machdep.cpu.brand_string")).toBe("Intel(R) Core(TM) i5-8279U CPU @ 2.40GHz");
    expect(values.get("hw.memsize")).toBe("17179869184");
    expect(values.get("hw.ncpu")).toBe("8");
    expect(values.has("hw.model")).toBe(false);
  });

  it("reads the hardware of an Intel Mac", () => {
    const folder = "macos/system_profiler-SPHardwareDataType";
    expect(parseHardware(recorded(`${folder}/06-intel-mbp11-4-catalina.txt`))).toEqual({
      model_identifier: "MacBookPro11,4",
      chip: "Intel Core i7",
      cores: 4,
    });
    expect(parseHardware("      Chip: Apple M3 Max\n").chip).toBe("Apple M3 Max");
  });

  it.each(["01-m1-7core-json.json", "03-m1-7core-metal-family.txt"])(
    "reads the GPU of %s",
    (name) => {
      const text = recorded(`macos/system_profiler-SPDisplaysDataType/${name}`);
      expect(parseDisplays(text)).toEqual([{ model: "Apple M1", cores: 7, memory_bytes: null }]);
    },
  );

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
