import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { failureText, known, unknown, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

export interface Supply {
  name: string;
  type: string;
  /** `Device` is the battery of a mouse or a headset. */
  scope: string;
  online: string;
  status: string;
  /** Charge of a battery in percent of what it holds today; null where it is none, or mute. */
  capacity_pct: number | null;
}

function attribute(directory: string, name: string): string {
  try {
    return readFileSync(join(directory, name), "latin1").trim();
  } catch {
    return "";
  }
}

/** All of `/sys/class/power_supply`. Throws where the folder cannot be read. */
export function powerSupplies(root: string): Supply[] {
  const directory = join(root, "sys/class/power_supply");
  return readdirSync(directory).map((name) => {
    const path = join(directory, name);
    const capacity = attribute(path, "capacity");
    return {
      name,
      type: attribute(path, "type"),
      scope: attribute(path, "scope"),
      online: attribute(path, "online"),
      status: attribute(path, "status"),
      capacity_pct: capacity === "" ? null : Number(capacity),
    };
  });
}

/** What power supplies say together. A guest cannot see the wall, which is asked only if it matters. */
function judge(all: readonly Supply[], virtual: () => boolean): Reading<"ac" | "battery"> {
  const own = all.filter((supply) => supply.scope !== "Device" && supply.type !== "");
  const batteries = own.filter((supply) => supply.type === "Battery");
  const feeds = own.filter((supply) => supply.type !== "Battery");
  if (feeds.some((feed) => feed.online === "1")) return known("ac");
  if (batteries.some((battery) => battery.status === "Discharging")) return known("battery");
  if (feeds.some((feed) => feed.online === "0")) return known("battery");
  const charged = new Set(["Charging", "Full", "Not charging"]);
  if (batteries.some((battery) => charged.has(battery.status))) return known("ac");
  if (batteries.length > 0) return unknown("the battery does not say whether it is discharging");
  if (virtual()) return unknown("a virtual machine does not see what feeds its host");
  return known("ac"); // no battery at all: a desktop or a server
}

const VIRTUAL_VENDOR = /qemu|kvm|vmware|virtualbox|xen|bochs|parallels|virtual machine|apple virt/i;

/** The first processors of cpuinfo: on large machines the whole of it takes a tenth of a second. */
function firstCpu(root: string): string {
  const file = new KeptFile(join(root, "proc/cpuinfo"), 8192);
  try {
    return file.readHead();
  } catch {
    return "";
  } finally {
    file.close();
  }
}

/** True where this is a virtual machine, as far as files tell. */
function isVirtual(root: string): boolean {
  if (/^flags\s*:.*\bhypervisor\b/m.test(firstCpu(root))) return true;
  if (existsSync(join(root, "sys/hypervisor/type"))) return true;
  const dmi = join(root, "sys/class/dmi/id");
  return VIRTUAL_VENDOR.test(`${attribute(dmi, "sys_vendor")} ${attribute(dmi, "product_name")}`);
}

/** Mains or battery, from `/sys/class/power_supply`. */
export function linuxPower(root: string): Reading<"ac" | "battery"> {
  try {
    return judge(powerSupplies(root), () => isVirtual(root));
  } catch (error) {
    return unknown(`power supplies: ${failureText(error)}`);
  }
}
