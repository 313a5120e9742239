import { readDevice } from "../../src/probes/index.ts";
import type { Tools } from "../../src/probes/tool.ts";
import { plant, recorded, unbundle } from "./probe-samples.ts";
import { fakeTools } from "./probe-tools.ts";
import { tempDir } from "./temp-dir.ts";

export const GIB = 2 ** 30;

export const BOOT = "/proc/sys/kernel/random/boot_id";
export const PCI = "/sys/bus/pci/devices";

/** The files of one card on the PCI bus. */
export function cardFiles(slot: string, vendor: string, device: string, kind = "0x030000") {
  return {
    [`${PCI}/${slot}/class`]: `${kind}\n`,
    [`${PCI}/${slot}/vendor`]: `${vendor}\n`,
    [`${PCI}/${slot}/device`]: `${device}\n`,
  };
}

const NO_CARDS = cardFiles("0000:00:00.0", "0x8086", "0x1237", "0x060000");
export const NVIDIA = cardFiles("0000:01:00.0", "0x10de", "0x2702");
export const SERVER = {
  ...unbundle(recorded("linux/dmi-id/03-dell-r6515-root.txt")),
  "/etc/os-release": recorded("linux/os-release/03-debian-13.txt"),
  "/proc/cpuinfo": recorded("linux/proc-cpuinfo/09-epyc-7451.txt"),
  "/proc/meminfo": recorded("linux/proc-meminfo/09-rhel-8g.txt"),
  "/sys/devices/system/cpu/present": "0-95\n",
  [BOOT]: "11111111-2222-4333-a444-555555555555\n",
};
export const SMI = "nvidia-smi --query-gpu=index,name,driver_version,memory.total,mig.mode.current";
export const RTX = "0, NVIDIA GeForce RTX 4080 SUPER, 595.71.05, 16376, [N/A]\n";

/** The files of a server without an accelerator, and `files` over them. */
export function hostWith(files: Record<string, string>): string {
  const root = tempDir();
  plant(root, { ...SERVER, ...NO_CARDS, ...files });
  return root;
}

export const read = (
  root: string,
  tools: Tools = fakeTools({}),
  cache_path: string | null = null,
) => readDevice({ cache_path, platform: "linux", arch: "x64", root, tools });
