import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDevice } from "../../../src/probes/index.ts";
import type { Tools } from "../../../src/probes/tool.ts";
import {
  BOOT,
  cardFiles,
  GIB,
  hostWith,
  NVIDIA,
  read,
  RTX,
  SMI,
} from "../../helpers/device-host.ts";
import { plant, recorded } from "../../helpers/probe-samples.ts";
import { fakeTools, hung } from "../../helpers/probe-tools.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A host, its cache and tools that can be exchanged between two looks. */
function cached(files: Record<string, string> = NVIDIA) {
  const root = hostWith(files);
  const path = join(tempDir(), "device.json");
  return { root, path, look: (tools: Tools) => read(root, tools, path) };
}

describe("what was read last", () => {
  it("spares the slow tools until the next boot", async () => {
    const { root, look } = cached();
    const tools = fakeTools({ [SMI]: RTX });
    const first = await look(tools);
    expect(await look(tools)).toEqual(first);
    expect(tools.asked).toHaveLength(1);
    plant(root, { [BOOT]: "another\n" });
    expect(await look(tools)).toEqual(first);
    expect(tools.asked).toHaveLength(2);
  });

  it("asks again when the driver or a card was exchanged", async () => {
    const { root, look } = cached();
    const tools = fakeTools({ [SMI]: RTX });
    await look(tools);
    plant(root, { "/sys/module/nvidia/version": "600.1\n" });
    await look(tools);
    plant(root, cardFiles("0000:02:00.0", "0x10de", "0x2702"));
    await look(tools);
    expect(tools.asked).toHaveLength(3);
  });

  it("stands while a tool hangs after a reboot, and the tool is asked again each time", async () => {
    const { root, look } = cached();
    const first = await look(fakeTools({ [SMI]: RTX }));
    plant(root, { [BOOT]: "another\n" });
    const slow = fakeTools({ "nvidia-smi": hung("nvidia-smi") });
    for (const count of [1, 2]) {
      const later = await look(slow);
      expect({ ...later, notes: [] }).toEqual(first);
      expect(later.notes).toEqual([
        "accelerators: nvidia-smi: no answer within 15 s; it stands as it was read last",
      ]);
      expect(slow.asked).toHaveLength(count);
    }
    const well = fakeTools({ [SMI]: RTX });
    expect(await look(well)).toEqual(first);
    expect(await look(well)).toEqual(first);
    expect(well.asked).toHaveLength(1);
  });

  it("does not stand for another card", async () => {
    const { root, look } = cached();
    await look(fakeTools({ [SMI]: RTX }));
    plant(root, { ...cardFiles("0000:02:00.0", "0x10de", "0x2331"), [BOOT]: "another\n" });
    const hanging = fakeTools({ "nvidia-smi": hung("nvidia-smi") });
    expect((await look(hanging)).accelerators.value).toBeNull();
    expect((await look(hanging)).accelerators.value).toBeNull();
  });

  it("does not come along to another machine", async () => {
    const { root, look } = cached();
    await look(fakeTools({ [SMI]: RTX }));
    plant(root, { "/sys/class/dmi/id/product_name": "PowerEdge R7525\n", [BOOT]: "b\n" });
    const moved = await look(fakeTools({ "nvidia-smi": hung("nvidia-smi") }));
    expect(moved.hardware.value).toBe("Dell Inc. PowerEdge R7525");
    expect(moved.accelerators.reason).toBe("nvidia-smi: no answer within 15 s");
  });

  it("stands for files that cannot be read any more", async () => {
    const { root, look } = cached({});
    const first = await look(fakeTools({}));
    for (const path of ["/sys/class/dmi/id/product_name", "/sys/class/dmi/id/board_name"]) {
      writeFileSync(join(root, path), "");
    }
    const later = await look(fakeTools({}));
    expect(later.hardware).toEqual(first.hardware);
    expect(later.notes[0]).toContain("hardware: neither DMI");
  });

  it("is not believed where the file is no cache of ours", async () => {
    const { path, look } = cached({});
    const fresh = await look(fakeTools({}));
    for (const text of [
      "{",
      '{"schema":"touchstoned/device-cache/1","values":[]}',
      '{"schema":"touchstoned/device-cache/1","values":{"hardware":7,"accelerators":[{"name":1}]}}',
    ]) {
      writeFileSync(path, text);
      expect(await look(fakeTools({}))).toEqual(fresh);
    }
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      values: { hardware: "Dell Inc. PowerEdge R6515", accelerators: [] },
    });
  });

  it("says so where it cannot be written down", async () => {
    const path = join(tempDir(), "no/device.json");
    const reading = await read(hostWith({}), fakeTools({}), path);
    expect(reading.hardware.value).toBe("Dell Inc. PowerEdge R6515");
    expect(reading.notes[0]).toContain("not written down");
  });
});

const SYSCTL = [
  "hw.model: Mac16,12",
  "hw.memsize: 25769803776",
  "hw.ncpu: 10",
  "machdep.cpu.brand_string: Apple M4",
  "kern.osproductversion: 27.0",
  "kern.osversion: 26A428",
  "kern.bootsessionuuid: 11111111-2222-4333-A444-555555555555",
].join("\n");
const M1_GPU = recorded("macos/system_profiler-SPDisplaysDataType/01-m1-7core-json.json");

const mac = (tools: Tools, cache_path: string | null = null) =>
  readDevice({ cache_path, platform: "darwin", arch: "arm64", tools });

describe("readDevice on macOS", () => {
  it("reads all parts by two commands", async () => {
    const tools = fakeTools({ sysctl: SYSCTL, "system_profiler -json": M1_GPU });
    expect(await mac(tools)).toEqual({
      os: { value: "darwin arm64", reason: null },
      os_release: { value: "macOS 27.0 (26A428)", reason: null },
      hardware: { value: "Mac16,12", reason: null },
      processor: { value: "Apple M4 (10 processors)", reason: null },
      memory_bytes: { value: 24 * GIB, reason: null },
      accelerators: {
        value: [{ name: "Apple M1", driver: null, memory_mb: null, cores: 7 }],
        reason: null,
      },
      notes: [],
    });
    expect(tools.asked).toHaveLength(2);
  });

  it("asks the other tools where sysctl does not know the names", async () => {
    const folder = "macos/system_profiler-SPHardwareDataType";
    const tools = fakeTools({
      sysctl: { ok: false, text: "hw.memsize: 17179869184\n", reason: "sysctl: unknown oid" },
      sw_vers: recorded("macos/sw_vers/04-osx10.12-beta-tab.txt"),
      "system_profiler SPHardware": recorded(`${folder}/06-intel-mbp11-4-catalina.txt`),
      "system_profiler SPDisplays":
        "  Chipset Model: Intel Iris Pro\n  VRAM (Dynamic, Max): 1536 MB\n\n" +
        "  Chipset Model: AMD Radeon R9 M370X\n  VRAM (Total): 2 GB\n",
    });
    expect(await mac(tools)).toMatchObject({
      os_release: { value: "macOS 10.12 (16A239j)" },
      hardware: { value: "MacBookPro11,4" },
      processor: { value: "Intel Core i7" },
      memory_bytes: { value: 16 * GIB },
      accelerators: {
        value: [
          { name: "Intel Iris Pro", memory_mb: null },
          { name: "AMD Radeon R9 M370X", memory_mb: 2147 },
        ],
      },
    });
  });

  it("keeps what it knew when every tool hangs, and is unknown where it knew nothing", async () => {
    const path = join(tempDir(), "device.json");
    const first = await mac(fakeTools({ sysctl: SYSCTL, "system_profiler -json": M1_GPU }), path);
    const hanging = fakeTools({
      sysctl: hung("sysctl"),
      sw_vers: hung("sw_vers"),
      system_profiler: hung("system_profiler"),
    });
    const later = await mac(hanging, path);
    expect({ ...later, notes: [] }).toEqual(first);
    expect(later.notes).toHaveLength(5);
    const never = await mac(hanging, join(tempDir(), "device.json"));
    expect(never.accelerators.reason).toBe("system_profiler: no answer within 15 s");
    expect(never.hardware.reason).toBe("sysctl: no answer within 15 s");
  });

  it("does not call a list that names nothing none", async () => {
    const tools = fakeTools({ sysctl: SYSCTL, system_profiler: '{"SPDisplaysDataType":[]}' });
    expect((await mac(tools)).accelerators.reason).toBe("system_profiler lists no GPU");
  });
});

it("knows no other system", async () => {
  const reading = await readDevice({ cache_path: null, platform: "freebsd" });
  expect(reading.hardware.reason).toBe("freebsd is not known here");
  expect(reading.accelerators.value).toBeNull();
});
