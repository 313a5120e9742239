import { existsSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { attempt, known, unknown, type Reading } from "../reading.ts";

/** PCI vendor numbers of those who make accelerators that runners use. */
const VENDORS: Readonly<Record<string, string>> = {
  "0x10de": "nvidia",
  "0x1002": "amd",
  "0x8086": "intel",
};

/** Display controllers that only show a picture: of virtual machines, and of servers' consoles. */
const PICTURE_ONLY = new Set([
  "0x1013", // Cirrus, as QEMU has it
  "0x102b", // Matrox G200
  "0x126f", // Silicon Motion
  "0x1234", // Bochs, QEMU's standard
  "0x1414", // Hyper-V
  "0x15ad", // VMware
  "0x19e5", // Huawei iBMC
  "0x1a03", // ASPEED
  "0x1ab8", // Parallels
  "0x1af4", // virtio
  "0x1b36", // QXL
  "0x80ee", // VirtualBox
]);

export interface BusCard {
  /** PCI address, `0000:01:00.0`. */
  slot: string;
  /** `nvidia`, `amd`, `intel`, or the vendor's number. */
  vendor: string;
  /** The device's number, `0x73df`. */
  device: string;
  /** The kernel module that drives it; null where none does. */
  driver: string | null;
}

function attribute(directory: string, name: string): string {
  return readFileSync(join(directory, name), "latin1").trim();
}

function driverOf(directory: string): string | null {
  return attempt(() => known(basename(readlinkSync(join(directory, "driver"))))).value;
}

/** Undefined for what is no card. Throws where that cannot be told. */
function cardAt(devices: string, slot: string): BusCard | undefined {
  const directory = join(devices, slot);
  // Class 03: display controllers; 12: processing accelerators.
  if (!/^0x(03|12)/.test(attribute(directory, "class"))) return undefined;
  const vendor = attribute(directory, "vendor");
  const device = attempt(() => known(attribute(directory, "device"))).value ?? "0x?";
  return { slot, vendor: VENDORS[vendor] ?? vendor, device, driver: driverOf(directory) };
}

/**
 * The display and accelerator cards on the PCI bus. Unknown where the bus, or any device on it, cannot
 * be looked at: a container may see the list and not what is behind it.
 */
export function busCards(root: string): Reading<BusCard[]> {
  const buses = join(root, "sys/bus");
  const devices = join(buses, "pci/devices");
  const names = attempt(() => known(readdirSync(buses)));
  if (names.value === null) return unknown(`the PCI bus: ${names.reason}`);
  // A kernel that drives no PCI bus has no folder for it, while it has those of other buses.
  if (!names.value.includes("pci")) return known([]);
  return attempt(() =>
    known(
      readdirSync(devices)
        .sort()
        .map((slot) => cardAt(devices, slot))
        .filter((one) => one !== undefined),
    ),
  );
}

/** Drivers that keep a card for a virtual machine: it is none of this system's. */
const LENT_OUT = new Set(["vfio-pci", "pci-stub", "xen-pciback", "pciback"]);

/** Of `cards`, those that could compute something for this system. */
export function computing(cards: readonly BusCard[]): BusCard[] {
  return cards.filter(
    ({ vendor, driver }) => !PICTURE_ONLY.has(vendor) && !LENT_OUT.has(driver ?? ""),
  );
}

/** A graphics core inside the processor sits on the root bus and uses the host's memory. */
export function integrated(card: BusCard): boolean {
  return card.vendor === "intel" && /^[0-9a-f]+:00:/.test(card.slot);
}

export interface BoardGpu {
  name: string;
  driver: string;
}

/** GPUs of a system on a chip, which sit on no PCI bus: render nodes of the device tree. */
export function boardGpus(root: string): BoardGpu[] {
  const drm = join(root, "sys/class/drm");
  const nodes = attempt(() => known(readdirSync(drm))).value ?? [];
  return nodes
    .filter((name) => /^renderD\d+$/.test(name))
    .sort()
    .flatMap((name) => {
      const uevent = attempt(() => known(attribute(join(drm, name, "device"), "uevent"))).value;
      if (uevent === null || /^PCI_ID=/m.test(uevent)) return [];
      const driver = /^DRIVER=(.+)$/m.exec(uevent)?.[1];
      const compatible = /^OF_COMPATIBLE_0=(.+)$/m.exec(uevent)?.[1];
      // Drivers without hardware (vgem, vkms) have no node in the device tree.
      return driver === undefined || compatible === undefined ? [] : [{ name: compatible, driver }];
    });
}

/** Windows Subsystem for Linux: the GPU comes in by a device file and shows on no bus. */
export function hiddenByWsl(root: string): boolean {
  return existsSync(join(root, "dev/dxg"));
}
