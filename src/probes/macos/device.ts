import { coarseBytes, coarseMb, type Accelerator, type DeviceSource } from "../device-reading.ts";
import { known, unknown, type Reading } from "../reading.ts";
import type { ToolAnswer, Tools } from "../tool.ts";
import { parseDisplays, parseHardware, parseSwVers, type MacGpu } from "./profile.ts";
import { bootTime, parseSysctl } from "./sysctl.ts";

/** All in one call: sysctl prints those that it knows and complains about the others. */
const NAMES = [
  "hw.model",
  "hw.memsize",
  "hw.ncpu",
  "machdep.cpu.brand_string",
  "kern.osproductversion",
  "kern.osversion",
  "kern.bootsessionuuid",
  "kern.boottime",
];

function accelerator(gpu: MacGpu): Accelerator {
  const { model, cores, memory_bytes } = gpu;
  return {
    name: model,
    driver: null,
    memory_mb: memory_bytes === null ? null : coarseMb(memory_bytes),
    cores,
  };
}

/** Every Mac has a GPU: a list without one was not understood. */
async function accelerators(tools: Tools): Promise<Reading<Accelerator[]>> {
  let answer = await tools.ask("system_profiler", "-json", "SPDisplaysDataType");
  if (!answer.ok || parseDisplays(answer.text).length === 0) {
    answer = await tools.ask("system_profiler", "SPDisplaysDataType");
  }
  if (answer.reason !== null) return unknown(answer.reason);
  const found = parseDisplays(answer.text).map(accelerator);
  return found.length === 0 ? unknown("system_profiler lists no GPU") : known(found);
}

async function osRelease(
  values: ReadonlyMap<string, string>,
  tools: Tools,
): Promise<Reading<string>> {
  let version = values.get("kern.osproductversion") ?? null;
  let build = values.get("kern.osversion") ?? null;
  if (version === null || build === null) {
    const asked = await tools.ask("sw_vers");
    const told = parseSwVers(asked.text);
    version ??= told.version;
    build ??= told.build;
    if (version === null) return unknown(asked.reason ?? "sw_vers tells no version");
  }
  return known(build === null ? `macOS ${version}` : `macOS ${version} (${build})`);
}

type Machine = Pick<DeviceSource["facts"], "hardware" | "processor" | "memory_bytes">;

/** Older systems have no id for a run of the kernel, but all know when it began. */
function bootId(values: ReadonlyMap<string, string>): string | null {
  const began = bootTime(values);
  return values.get("kern.bootsessionuuid") ?? (began === null ? null : String(began));
}

async function machine(
  values: ReadonlyMap<string, string>,
  asked: ToolAnswer,
  tools: Tools,
): Promise<Machine> {
  let model = values.get("hw.model") ?? null;
  let chip = values.get("machdep.cpu.brand_string") ?? null;
  let bytes: number | null = Number(values.get("hw.memsize") ?? Number.NaN) || null;
  let trouble = asked.reason;
  if (model === null || chip === null || bytes === null) {
    const profile = await tools.ask("system_profiler", "SPHardwareDataType");
    const told = parseHardware(profile.text);
    model ??= told.model_identifier;
    chip ??= told.chip;
    bytes ??= told.memory_bytes;
    trouble ??= profile.reason;
  }
  const reason = trouble ?? "neither sysctl nor system_profiler tells it";
  const cores = values.get("hw.ncpu");
  const count = cores === undefined ? "" : ` (${cores} processors)`;
  return {
    hardware: model === null ? unknown(reason) : known(model),
    processor: chip === null ? unknown(reason) : known(`${chip}${count}`),
    memory_bytes: bytes === null ? unknown(reason) : known(coarseBytes(bytes)),
  };
}

export async function macDevice(arch: string, tools: Tools): Promise<DeviceSource> {
  const asked = await tools.ask("sysctl", ...NAMES);
  const values = parseSysctl(asked.text);
  return {
    facts: {
      os: known(`darwin ${arch}`),
      os_release: await osRelease(values, tools),
      ...(await machine(values, asked, tools)),
    },
    boot: bootId(values),
    bus: null,
    accelerators: () => accelerators(tools),
  };
}
