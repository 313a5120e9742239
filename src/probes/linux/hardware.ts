import { join } from "node:path";
import { known, unknown, type Reading } from "../reading.ts";
import { cpuField, parseCpuInfo, shortText, wholeText } from "./identity.ts";

/** What makers leave in their firmware where a name should be. */
const UNFILLED =
  /^(to be filled|system (manufacturer|product name|version)|default string|not (specified|applicable|available)|o\.?e\.?m\.?$|unknown|none$|invalid|empty|[0x. -]*$)/i;

/** An attribute of the machine's DMI table; null where it is not there, not ours to read or unfilled. */
export function dmiText(root: string, name: string): string | null {
  const text = shortText(join(root, "sys/class/dmi/id", name));
  return text === null || UNFILLED.test(text) ? null : text;
}

/** Vendor and product from DMI (else its main board), or the model of the device tree. */
export function hardwareName(root: string): Reading<string> {
  const pair = (vendor: string, product: string): string | null => {
    const name = dmiText(root, product);
    if (name === null) return null;
    const maker = dmiText(root, vendor);
    return maker === null || name.startsWith(maker) ? name : `${maker} ${name}`;
  };
  const name =
    pair("sys_vendor", "product_name") ??
    pair("board_vendor", "board_name") ??
    shortText(join(root, "proc/device-tree/model"));
  return name === null ? unknown("neither DMI nor a device tree names this machine") : known(name);
}

/** `0-3,8` as the kernel lists processors. */
export function countList(text: string): number {
  return text
    .trim()
    .split(",")
    .map((part) => part.split("-").map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + last - first + 1, 0);
}

/** ARM and RISC-V kernels print numbers of the design in place of a name. */
function designName(cpuinfo: string): string | null {
  const [maker, part] = [cpuField(cpuinfo, "CPU implementer"), cpuField(cpuinfo, "CPU part")];
  if (maker !== null && part !== null) return `ARM ${maker}/${part}`;
  return cpuField(cpuinfo, "uarch") ?? cpuField(cpuinfo, "isa");
}

/** Name and count of the processors; those that are switched off at the moment count too. */
export function processorName(root: string): Reading<string> {
  const cpuinfo = wholeText(join(root, "proc/cpuinfo"));
  if (cpuinfo === null) return unknown("/proc/cpuinfo cannot be read");
  const { model_name, hardware, processors } = parseCpuInfo(cpuinfo);
  // 32-bit ARM kernels name the instruction set where others name the product.
  const named = model_name?.startsWith("ARMv") === true ? (hardware ?? model_name) : model_name;
  const name = named ?? hardware ?? designName(cpuinfo);
  if (name === null) return unknown("/proc/cpuinfo names no processor");
  const present = wholeText(join(root, "sys/devices/system/cpu/present"));
  const count = present === null ? processors : countList(present);
  return known(`${name} (${count} ${count === 1 ? "processor" : "processors"})`);
}
