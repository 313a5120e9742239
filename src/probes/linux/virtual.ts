import { existsSync } from "node:fs";
import { join } from "node:path";
import { shortText } from "./identity.ts";
import { KeptFile } from "./kept-file.ts";

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
export function isVirtual(root: string): boolean {
  if (/^flags\s*:.*\bhypervisor\b/m.test(firstCpu(root))) return true;
  if (existsSync(join(root, "sys/hypervisor/type"))) return true;
  const dmi = join(root, "sys/class/dmi/id");
  return VIRTUAL_VENDOR.test(
    `${shortText(join(dmi, "sys_vendor")) ?? ""} ${shortText(join(dmi, "product_name")) ?? ""}`,
  );
}
