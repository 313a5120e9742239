import { readFileSync } from "node:fs";
import { join } from "node:path";

interface OsRelease {
  id: string | null;
  version_id: string | null;
  codename: string | null;
  pretty_name: string | null;
}

/** An image template that nobody filled in says nothing. */
function filled(value: string | undefined): string | null {
  return value === undefined || value === "" || value.startsWith("TEMPLATE_") ? null : value;
}

/** The values of `/etc/os-release` by name (shell assignments, comments). */
export function osReleaseValues(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const found of text.matchAll(/^([A-Z_]+)=(?:"([^"\n]*)"|'([^'\n]*)'|(\S*))\s*$/gm)) {
    const [, name, double, single, bare] = found;
    if (name !== undefined) values.set(name, double ?? single ?? bare ?? "");
  }
  return values;
}

export function parseOsRelease(text: string): OsRelease {
  const values = osReleaseValues(text);
  return {
    id: filled(values.get("ID")),
    version_id: filled(values.get("VERSION_ID")),
    codename: filled(values.get("VERSION_CODENAME")),
    pretty_name: filled(values.get("PRETTY_NAME")),
  };
}

interface CpuInfo {
  /** Marketing name; null on most ARM and RISC-V machines, which print numbers instead. */
  model_name: string | null;
  processors: number;
  hypervisor: boolean;
  /** Board names of older ARM kernels. */
  hardware: string | null;
}

/** The first value of a label in `/proc/cpuinfo`. */
export function cpuField(text: string, label: string): string | null {
  return new RegExp(`^${label}[ \\t]*:[ \\t]*(.+?)[ \\t]*$`, "m").exec(text)?.[1] ?? null;
}

/** Parses `/proc/cpuinfo`. Serial numbers in it are never taken. */
export function parseCpuInfo(text: string): CpuInfo {
  return {
    model_name: cpuField(text, "model name"),
    processors: [...text.matchAll(/^processor[ \t]*:/gm)].length,
    hypervisor: /^flags[ \t]*:.*\bhypervisor\b/m.test(text),
    hardware: cpuField(text, "Hardware"),
  };
}

/** The text of a file of firmware or kernel; may hold any bytes, and ends in NUL in a device tree. */
export function shortText(path: string): string | null {
  const text = wholeText(path)
    ?.replaceAll(/[^\p{L}\p{N}\p{P}\p{S}]+/gu, " ")
    .replaceAll("\uFFFD", "")
    .trim();
  return text === undefined || text === "" ? null : text;
}

/** Vendor and product from DMI, or the board from the device tree. Never a serial number. */
export function boardName(root: string): string | null {
  const dmi = join(root, "sys/class/dmi/id");
  const vendor = shortText(join(dmi, "sys_vendor"));
  const product = shortText(join(dmi, "product_name"));
  const name = [vendor, product].filter((part) => part !== null).join(" ");
  return name === "" ? shortText(join(root, "proc/device-tree/model")) : name;
}

/** 32-bit ARM kernels name the instruction set where others name the product. */
function chipName(cpu: CpuInfo): string | null {
  const { model_name, hardware } = cpu;
  return model_name?.startsWith("ARMv") === true
    ? (hardware ?? model_name)
    : (model_name ?? hardware);
}

interface LinuxIdentity {
  os: string | null;
  chip: string | null;
}

export function linuxIdentity(root: string): LinuxIdentity {
  const release = wholeText(join(root, "etc/os-release"));
  const cpuinfo = wholeText(join(root, "proc/cpuinfo"));
  const os = release === null ? null : parseOsRelease(release);
  const cpu = cpuinfo === null ? null : parseCpuInfo(cpuinfo);
  return {
    os: os?.pretty_name ?? os?.id ?? null,
    chip: cpu === null ? boardName(root) : (chipName(cpu) ?? boardName(root)),
  };
}

export function wholeText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
