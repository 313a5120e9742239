import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { coarseBytes, coarseMb } from "../../../src/probes/device-reading.ts";
import { countList } from "../../../src/probes/linux/hardware.ts";
import type { Tools } from "../../../src/probes/tool.ts";
import {
  cardFiles,
  GIB,
  hostWith,
  NVIDIA,
  PCI,
  read,
  RTX,
  SERVER,
  SMI,
} from "../../helpers/device-host.ts";
import { plant, recorded } from "../../helpers/probe-samples.ts";
import { fakeTools, hung } from "../../helpers/probe-tools.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("coarse memory", () => {
  it.each([
    [25_276_510_208, 24], // this very size on kernel 6.18
    [25_276_510_208 - 200_000_000, 24],
    [8_202_149_888, 8],
    [4_133_560_320, 4],
    [3_831_959_552, 3.75], // a tenth is kept for the screen
    [63_120_797_696, 60],
    [17_179_869_184, 16],
    [34_359_738_368, 32],
    [38_654_705_664, 36],
    [260_579_328, 0.25],
  ])("makes %d bytes %d GiB", (bytes, gib) => {
    expect(coarseBytes(bytes)).toBe(gib * GIB);
  });

  it("does not move while the kernel keeps two to six percent of what is built in", () => {
    for (const built_in of [4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512, 768]) {
      for (const kept of [0.02, 0.03, 0.04, 0.05, 0.06]) {
        expect(coarseBytes(built_in * GIB * (1 - kept))).toBe(built_in * GIB);
      }
    }
    expect(coarseMb(81_559 * 2 ** 20)).toBe(85_899);
  });
});

describe("readDevice on Linux", () => {
  it("reads all parts, and names no serial number", async () => {
    const reading = await read(hostWith(NVIDIA), fakeTools({ [SMI]: RTX }));
    expect(reading).toEqual({
      os: { value: "linux x64", reason: null },
      os_release: { value: "debian 13", reason: null },
      hardware: { value: "Dell Inc. PowerEdge R6515", reason: null },
      processor: {
        value: "AMD EPYC 7451 24-Core Processor (96 processors)",
        reason: null,
      },
      memory_bytes: { value: 8 * GIB, reason: null },
      accelerators: {
        value: [
          {
            name: "NVIDIA GeForce RTX 4080 SUPER",
            driver: "595.71.05",
            memory_mb: 17_180,
            cores: null,
          },
        ],
        reason: null,
      },
      notes: [],
    });
    expect(JSON.stringify(reading)).not.toMatch(/0X00XX0|11111111-2222/);
  });

  it.each([
    [{ "/sys/class/dmi/id/product_name": "To Be Filled By O.E.M.\n" }, "Dell Inc. 07PXPY"],
    [{ "/sys/class/dmi/id/product_name": "Dell Inc. X1\n" }, "Dell Inc. X1"],
    [{ "/sys/class/dmi/id/sys_vendor": "System manufacturer\n" }, "PowerEdge R6515"],
  ])("takes no placeholder of the maker for a name: %o", async (files, name) => {
    expect((await read(hostWith(files))).hardware.value).toBe(name);
  });

  it("goes by numbers of the design where an ARM or RISC-V kernel prints no name", async () => {
    const processor = async (name: string) => {
      const root = hostWith({ "/proc/cpuinfo": recorded(`linux/proc-cpuinfo/${name}.txt`) });
      plant(root, { "/sys/devices/system/cpu/present": "0\n" });
      return (await read(root)).processor.value;
    };
    expect(await processor("06-thunderx-arm64-no-final-newline")).toBe(
      "ARM 0x43/0x0a1 (1 processor)",
    );
    expect(await processor("10-riscv-visionfive2")).toBe("sifive,u74-mc (1 processor)");
    expect(await processor("01-rpi1-bcm2835-rev0010")).toBe("BCM2835 (1 processor)");
    expect(countList("0-3,8,10-11\n")).toBe(7);
  });

  it("is unknown in each part with a reason where nothing can be read", async () => {
    const { notes, os, ...parts } = await read(tempDir());
    expect(os.value).toBe("linux x64");
    expect(notes).toEqual([]);
    for (const part of Object.values(parts)) {
      expect(part.value).toBeNull();
      expect(part.reason).not.toBe("");
    }
    expect(parts.accelerators.reason).toContain("the PCI bus: ENOENT");
  });

  it("takes the code name where a rolling release has no version", async () => {
    const root = hostWith({ "/etc/os-release": recorded("linux/os-release/04-debian-sid.txt") });
    expect((await read(root)).os_release.value).toBe("debian trixie");
    plant(root, { "/etc/os-release": recorded("linux/os-release/06-arch.txt") });
    expect((await read(root)).os_release.value).toBe("arch");
  });
});

async function accelerators(files: Record<string, string>, tools: Tools = fakeTools({})) {
  return (await read(hostWith(files), tools)).accelerators;
}

const LIST = "nvidia-smi -L";

describe("accelerators on Linux", () => {
  it("are none only where the bus proves it", async () => {
    expect((await accelerators({})).value).toEqual([]);
    // A virtual machine's picture, and a kernel without PCI.
    expect((await accelerators(cardFiles("0000:00:02.0", "0x1234", "0x1111"))).value).toEqual([]);
    const root = tempDir();
    plant(root, { ...SERVER, "/sys/bus/platform/x": "" });
    expect((await read(root)).accelerators.value).toEqual([]);
  });

  it("are unknown where a card is there that nobody can ask", async () => {
    expect((await accelerators(NVIDIA)).reason).toBe("nvidia-smi is not on PATH");
    const foreign = await accelerators(cardFiles("0000:03:00.0", "0x1ed5", "0x0222"));
    expect(foreign.reason).toContain("0x1ed5");
    const arc = await accelerators(cardFiles("0000:03:00.0", "0x8086", "0x56a0"));
    expect(arc.reason).toContain("does not tell its memory");
    expect((await accelerators({ "/dev/dxg": "" })).reason).toContain("WSL");
  });

  it("tell a tool without a card from a card without a tool", async () => {
    const broken = {
      ok: false,
      text: recorded("linux/nvidia-smi-error/03-couldnt-communicate.txt"),
      reason: `nvidia-smi: ${recorded("linux/nvidia-smi-error/03-couldnt-communicate.txt").trim()}`,
    };
    expect((await accelerators({}, fakeTools({ "nvidia-smi": broken }))).value).toEqual([]);
    expect((await accelerators(NVIDIA, fakeTools({ "nvidia-smi": broken }))).reason).toBe(
      "nvidia-smi: the NVIDIA driver is not loaded",
    );
  });

  it("are unknown where one of two cards is lost", async () => {
    const text = recorded("linux/nvidia-smi-error/06-device-handle-second-gpu-lost.txt");
    const tools = fakeTools({ [SMI]: `${text.split("\n", 1)[0]}\n${RTX}` });
    expect((await accelerators(NVIDIA, tools)).reason).toContain("a GPU is lost");
  });

  it("say which card is cut into instances, and which shares the host's memory", async () => {
    const rows =
      "0, NVIDIA H200, 590.48.01, 143771, Enabled\n1, NVIDIA GB10, 590.1, [N/A], [N/A]\n";
    const list =
      "GPU 0: NVIDIA H200 (UUID: GPU-0)\n  MIG 1c.3g.71gb  Device  0: (UUID: MIG-0)\n" +
      "  MIG 1g.18gb     Device  3: (UUID: MIG-3)\nGPU 1: NVIDIA GB10 (UUID: GPU-1)\n";
    const { value } = await accelerators(NVIDIA, fakeTools({ [SMI]: rows, [LIST]: list }));
    expect(value).toEqual([
      {
        name: "NVIDIA H200 (MIG 1c.3g.71gb 1g.18gb)",
        driver: "590.48.01",
        memory_mb: 154_619,
        cores: null,
      },
      { name: "NVIDIA GB10", driver: "590.1", memory_mb: null, cores: null },
    ]);
    const mute = fakeTools({ [SMI]: rows, [LIST]: hung("nvidia-smi") });
    expect((await accelerators(NVIDIA, mute)).reason).toContain("no answer");
  });

  it("ask drivers that know no MIG for less", async () => {
    const tools = fakeTools({
      [SMI]: {
        ok: false,
        text: "",
        reason: 'Field "mig.mode.current" is not a valid field to query.',
      },
      "nvidia-smi --query-gpu=index,name,driver_version,memory.total ":
        "0, Tesla V100-PCIE-16GB, 440.33, 16160\n",
    });
    expect((await accelerators(NVIDIA, tools)).value).toMatchObject([
      { name: "Tesla V100-PCIE-16GB", driver: "440.33" },
    ]);
  });

  it("take AMD's from the driver's files, by number", async () => {
    const slot = "0000:07:00.0";
    const files = {
      ...cardFiles(slot, "0x1002", "0x73df"),
      [`${PCI}/${slot}/mem_info_vram_total`]: "12868124672\n",
    };
    const root = hostWith(files);
    const driver = join(root, PCI, slot, "driver");
    mkdirSync(dirname(driver), { recursive: true });
    symlinkSync("../../../../bus/pci/drivers/amdgpu", driver);
    expect((await read(root)).accelerators.value).toEqual([
      { name: "AMD 0x73df", driver: "amdgpu", memory_mb: 12_885, cores: null },
    ]);
    plant(root, { "/sys/module/amdgpu/version": "6.12.12\n" });
    expect((await read(root)).accelerators.value).toMatchObject([{ driver: "6.12.12" }]);
  });

  it("ask rocm-smi where the files tell nothing", async () => {
    const files = cardFiles("0000:07:00.0", "0x1002", "0x73df");
    const text = recorded("linux/rocm-smi/10-rx6700xt-rocm612.json");
    const asked = await accelerators(files, fakeTools({ "rocm-smi": text }));
    expect(asked.value).toMatchObject([
      { name: "AMD Navi 22 [Radeon RX 6700/6700 XT / 6800M]", memory_mb: 12_885 },
    ]);
    const silent = await accelerators(files, fakeTools({ "rocm-smi": hung("rocm-smi") }));
    expect(silent.reason).toContain("ENOENT");
    expect(silent.reason).toContain("no answer within 15 s");
  });

  it("count Intel's own graphics and those of a system on a chip", async () => {
    const own = await accelerators(cardFiles("0000:00:02.0", "0x8086", "0x46a6"));
    expect(own.value).toEqual([
      { name: "Intel 0x46a6", driver: null, memory_mb: null, cores: null },
    ]);
    const board = await accelerators({
      "/sys/class/drm/renderD128/device/uevent":
        "DRIVER=panfrost\nOF_NAME=gpu\nOF_COMPATIBLE_0=arm,mali-g610\n",
      "/sys/class/drm/renderD129/device/uevent": "DRIVER=vgem\n",
    });
    expect(board.value).toMatchObject([{ name: "arm,mali-g610", driver: "panfrost" }]);
  });
});
