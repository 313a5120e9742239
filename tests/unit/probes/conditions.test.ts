import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConditions, readGpuProcesses } from "../../../src/probes/index.ts";
import { packagePower, type EnergyZone } from "../../../src/probes/linux/rapl.ts";
import { processorTemperature } from "../../../src/probes/linux/temperature.ts";
import { known, unknown } from "../../../src/probes/reading.ts";
import type { ToolAnswer } from "../../../src/probes/tool.ts";
import { cardFiles } from "../../helpers/device-host.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { plant, recorded, unbundle } from "../../helpers/probe-samples.ts";
import { fakeTools } from "../../helpers/probe-tools.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const RAPL = "/sys/class/powercap/intel-rapl:0";
const THROTTLE = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
const LAPTOP = {
  ...unbundle(recorded("linux/power_supply/01-thinkpad-bat0-ac-offline.txt")),
  ...unbundle(recorded("linux/hwmon/01-k10temp-nvme.txt")),
  [`${RAPL}/name`]: "package-0\n",
  [`${RAPL}/energy_uj`]: "1000000\n",
  [THROTTLE]: "3\n",
};

/** A clock whose sleep lets the machine do `meanwhile`. */
class BusyClock extends FakeClock {
  readonly #meanwhile: () => void;

  constructor(meanwhile: () => void) {
    super({ jumpSleeps: true });
    this.#meanwhile = meanwhile;
  }

  override async sleep(duration_ms: number, signal?: AbortSignal): Promise<void> {
    this.#meanwhile();
    await super.sleep(duration_ms, signal);
  }
}

function onLinux(files: Record<string, string>, meanwhile: Record<string, string> = {}) {
  const root = tempDir();
  plant(root, files);
  const clock = new BusyClock(() => {
    for (const [path, text] of Object.entries(meanwhile)) writeFileSync(join(root, path), text);
  });
  return readConditions({ platform: "linux", root, clock });
}

describe("readConditions", () => {
  it("reads power, charge, heat and energy of a laptop", async () => {
    const conditions = await onLinux(LAPTOP, { [`${RAPL}/energy_uj`]: "16000000\n" });
    expect(conditions).toMatchObject({
      power_source: { value: "battery" },
      battery_pct: { value: 81 },
      thermal: { value: "nominal" },
      temperature_c: { value: 33.25 },
      package_w: { value: 15 },
    });
    expect(conditions.load.value).toBeGreaterThanOrEqual(0);
  });

  it("sees that heat slows it down while it looks", async () => {
    const { thermal } = await onLinux(LAPTOP, { [THROTTLE]: "4\n" });
    expect(thermal.value).toBe("throttled");
  });

  it("is unknown in each part that a machine does not tell", async () => {
    const { load: _load, ...parts } = await onLinux({});
    for (const part of Object.values(parts)) {
      expect(part.value).toBeNull();
      expect(part.reason).not.toBe("");
    }
    expect((await readConditions({ platform: "freebsd" })).thermal.reason).toContain("freebsd");
  });

  it("asks powermetrics on macOS, and what everybody may ask where it may not", async () => {
    const file = "macos/powermetrics-thermal/04-cpu-power-then-thermal-two-samples.txt";
    const pmset =
      "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t57%; discharging\n";
    const read = (tools: Record<string, string | ToolAnswer>) =>
      readConditions({
        platform: "darwin",
        tools: fakeTools({ pmset, ...tools }),
        env: { PATH: "" },
      });
    expect(await read({ sudo: recorded(file) })).toMatchObject({
      battery_pct: { value: 57 },
      thermal: { value: "nominal" },
      package_w: { value: 1.172 },
    });
    const refused = { ok: false, text: "", reason: "sudo: a password is required" };
    const notify = "com.apple.system.thermalpressurelevel 1\n";
    expect(await read({ sudo: refused, notifyutil: notify })).toMatchObject({
      thermal: { value: "throttled" },
      package_w: { reason: "sudo: a password is required" },
    });
    expect((await read({ sudo: refused })).thermal.reason).toBe("sudo: a password is required");
  });
});

const zone = (uj: number | null, range_uj: number | null = null): EnergyZone => ({
  name: "package-0",
  energy_uj: uj === null ? unknown("EACCES /energy_uj") : known(uj),
  range_uj,
});

describe("packagePower", () => {
  it("counts over the end of the range", () => {
    expect(
      packagePower([zone(9_000_000, 10_000_000)], [zone(4_000_000, 10_000_000)], 1000),
    ).toEqual(known(5));
    expect(packagePower([zone(9)], [zone(4)], 1000).reason).toContain("cannot be compared");
  });

  it("is unknown where it may not be read, or is not counted", () => {
    expect(packagePower([zone(null)], [zone(null)], 1000).reason).toContain("EACCES");
    expect(packagePower([], [zone(4)], 1000).reason).toContain("cannot be compared");
    expect(packagePower([], [], 1000).reason).toContain("no energy");
  });
});

it("takes a zone of the processor where no chip has a driver, and no other's", () => {
  const root = tempDir();
  const thermal = "/sys/class/thermal/thermal_zone";
  plant(root, { [`${thermal}0/type`]: "battery\n", [`${thermal}0/temp`]: "90000\n" });
  expect(processorTemperature(root).value).toBeNull();
  plant(root, { [`${thermal}1/type`]: "x86_pkg_temp\n", [`${thermal}1/temp`]: "51000\n" });
  plant(root, { [`${thermal}2/type`]: "cpu0-thermal\n", [`${thermal}2/temp`]: "-\n" });
  expect(processorTemperature(root).value).toBe(51);
});

describe("readGpuProcesses", () => {
  const NVIDIA = cardFiles("0000:01:00.0", "0x10de", "0x2702");
  const users = (files: Record<string, string>, answer?: string | ToolAnswer) => {
    const root = tempDir();
    plant(root, { "/sys/bus/pci/devices/none": "", ...files });
    const tools = fakeTools(answer === undefined ? {} : { "nvidia-smi": answer });
    return readGpuProcesses({ platform: "linux", root, tools });
  };

  it("lists who computes on NVIDIA's", async () => {
    const text = "pid, used_gpu_memory [MiB]\n2165, 25\n5022, [N/A]\n";
    expect((await users(NVIDIA, text)).value).toEqual([
      { pid: 2165, used_mb: 26.214 },
      { pid: 5022, used_mb: null },
    ]);
    expect((await users(NVIDIA, "pid, used_gpu_memory [MiB]\n")).value).toEqual([]);
  });

  it("is empty without a GPU, and unknown where a GPU does not tell", async () => {
    expect((await users({})).value).toEqual([]);
    expect((await users(NVIDIA)).reason).toContain("not on PATH");
    const broken = {
      ok: false,
      text: "",
      reason: "NVIDIA-SMI: couldn't communicate with the NVIDIA driver",
    };
    expect((await users(NVIDIA, broken)).reason).toBe(
      "nvidia-smi: the NVIDIA driver is not loaded",
    );
    const amd = cardFiles("0000:03:00.0", "0x1002", "0x73df");
    expect((await users(amd)).reason).toContain("amd");
    expect((await readGpuProcesses({ platform: "darwin" })).value).toBeNull();
  });
});
