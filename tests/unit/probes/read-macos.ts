import { parsePowermetrics } from "../../../src/probes/macos/powermetrics.ts";
import { parseDisplays, parseHardware, parseSwVers } from "../../../src/probes/macos/profile.ts";
import {
  bootTime,
  parseMemoryPressure,
  parseSwapUsage,
  parseSysctl,
} from "../../../src/probes/macos/sysctl.ts";
import { parseVmStat, vmBytes } from "../../../src/probes/macos/vm-stat.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";

const vmStat: SampleReader = ({ text }) => {
  const stat = parseVmStat(text);
  if (stat === undefined) return {};
  return {
    page_size: stat.page_bytes,
    free_bytes: vmBytes(stat, "Pages free"),
    active_bytes: vmBytes(stat, "Pages active"),
    inactive_bytes: vmBytes(stat, "Pages inactive"),
    speculative_bytes: vmBytes(stat, "Pages speculative"),
    purgeable_bytes: vmBytes(stat, "Pages purgeable"),
    wired_bytes: vmBytes(stat, "Pages wired down"),
    compressor_occupied_bytes: vmBytes(stat, "Pages occupied by compressor"),
    compressor_stored_bytes: vmBytes(stat, "Pages stored in compressor"),
    swapins: stat.counts.get("Swapins"),
    swapouts: stat.counts.get("Swapouts"),
  };
};

const pressure: SampleReader = ({ text }) => {
  const { counts, page_bytes, ...read } = parseMemoryPressure(text);
  return {
    ...read,
    page_size: page_bytes,
    free_pages: counts.get("Pages free"),
    compressor_pages: counts.get("Pages used by compressor"),
    swapins: counts.get("Swapins"),
    swapouts: counts.get("Swapouts"),
  };
};

const identity: SampleReader = ({ text }) => {
  const values = parseSysctl(text);
  return {
    brand: values.get("machdep.cpu.brand_string"),
    memsize: values.get("hw.memsize"),
    ncpu: values.get("hw.ncpu"),
    cores: values.get("machdep.cpu.core_count"),
    threads: values.get("machdep.cpu.thread_count"),
    os: values.get("kern.osproductversion"),
    hw_model: values.get("hw.model") ?? null,
  };
};

const boot: SampleReader = ({ text }) => {
  const values = parseSysctl(text);
  return { boot_time: bootTime(values), boot_session: values.get("kern.bootsessionuuid") };
};

const displays: SampleReader = ({ text }) => {
  const [gpu] = parseDisplays(text);
  return {
    gpu_model: gpu?.model,
    gpu_cores: gpu?.cores,
    metal: gpu?.metal,
    vram: gpu?.memory_bytes,
  };
};

const powermetrics: SampleReader = ({ text }) => ({ ...parsePowermetrics(text) });

export const MACOS_READERS: Readonly<Record<string, SampleReader>> = {
  vm_stat: vmStat,
  memory_pressure: pressure,
  "sysctl-vm.swapusage": ({ text }) => ({ ...parseSwapUsage(text) }),
  "sysctl-identity": identity,
  "sysctl-boot": boot,
  sw_vers: ({ text }) => ({ ...parseSwVers(text) }),
  "system_profiler-SPHardwareDataType": ({ text }) => ({ ...parseHardware(text) }),
  "system_profiler-SPDisplaysDataType": displays,
  "powermetrics-plist": powermetrics,
  "powermetrics-text": powermetrics,
  "powermetrics-thermal": powermetrics,
};
