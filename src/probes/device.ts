import { fitsField, loadDeviceCache, saveDeviceCache, type DeviceCache } from "./device-cache.ts";
import type { DeviceFacts, DeviceField, DeviceReading, DeviceSource } from "./device-reading.ts";
import { linuxDevice } from "./linux/device.ts";
import { macDevice } from "./macos/device.ts";
import { known, unknown, type Reading } from "./reading.ts";
import { systemTools, type Tools } from "./tool.ts";

export interface DeviceOptions {
  /** Where what was read last is kept; null keeps nothing. */
  cache_path: string | null;
  platform?: NodeJS.Platform;
  arch?: string;
  /** Where /proc, /sys and /etc are; "/" but in tests. */
  root?: string;
  /** Variables for the tools that are asked, PATH above all. */
  env?: Record<string, string>;
  /** How long a tool may take. */
  limit_s?: number;
  /** What asks the tools; but in tests the system's own. */
  tools?: Tools;
}

function unsupported(platform: string): DeviceSource {
  const none = unknown(`${platform} is not known here`);
  return {
    facts: { os: none, os_release: none, hardware: none, processor: none, memory_bytes: none },
    boot: null,
    bus: null,
    accelerators: () => Promise.resolve(none),
  };
}

async function sourceOf(options: DeviceOptions): Promise<DeviceSource> {
  const { platform = process.platform, arch = process.arch, root = "/" } = options;
  const tools = options.tools ?? systemTools(options);
  if (platform === "linux") return linuxDevice(root, arch, tools);
  if (platform === "darwin") return macDevice(arch, tools);
  return unsupported(platform);
}

/** What makes two readings ones of different machines, where both have it. */
const MACHINE: readonly DeviceField[] = ["hardware", "processor", "memory_bytes"];

/** A state folder may have come from another machine by a backup. */
function sameMachine(cache: DeviceCache, facts: DeviceSource["facts"]): boolean {
  const now: Partial<Record<DeviceField, Reading<unknown>>> = facts;
  return MACHINE.every((field) => {
    const [before, read] = [cache.values[field], now[field]?.value ?? null];
    return before === undefined || read === null || before === read;
  });
}

async function readAccelerators(
  source: DeviceSource,
  cache: DeviceCache | undefined,
): Promise<DeviceFacts["accelerators"]> {
  const same = cache !== undefined && source.boot !== null && source.boot === cache.boot;
  const cached = cache?.values.accelerators;
  if (!same || source.bus !== cache.bus || !fitsField("accelerators", cached)) {
    return source.accelerators();
  }
  return known(cached as never);
}

/** `fresh` with the last known value wherever it has none. */
function keepLast(
  fresh: DeviceFacts,
  cache: DeviceCache | undefined,
  bus: string | null,
): DeviceReading {
  const facts: Record<DeviceField, Reading<unknown>> = { ...fresh };
  const notes: string[] = [];
  for (const field of Object.keys(facts) as DeviceField[]) {
    const { reason } = facts[field];
    const last = cache?.values[field];
    if (reason === null || last === undefined || !fitsField(field, last)) continue;
    // Another card is another list: what was read of the old ones says nothing of these.
    if (field === "accelerators" && bus !== cache?.bus) continue;
    facts[field] = known(last);
    notes.push(`${field}: ${reason}; it stands as it was read last`);
  }
  return { ...(facts as unknown as DeviceFacts), notes };
}

function toCache(reading: DeviceReading, source: DeviceSource): DeviceCache {
  const { notes: _notes, ...facts } = reading;
  const values: DeviceCache["values"] = {};
  for (const [field, { value }] of Object.entries(facts)) {
    if (value !== null) values[field as DeviceField] = value;
  }
  return { boot: source.boot, bus: source.bus, values };
}

/**
 * What this machine is, as far as measurements depend on it. Tools that take seconds are asked once
 * a boot, or when a card or its driver changed. What cannot be read now stands as it was read last on
 * this machine, so that a probe that times out makes no other device of it; what was never read is
 * null with the reason. Never rejects.
 */
export async function readDevice(options: DeviceOptions): Promise<DeviceReading> {
  const source = await sourceOf(options);
  const { cache_path } = options;
  const found = cache_path === null ? undefined : loadDeviceCache(cache_path);
  const cache = found !== undefined && sameMachine(found, source.facts) ? found : undefined;
  const accelerators = await readAccelerators(source, cache);
  const reading = keepLast({ ...source.facts, accelerators }, cache, source.bus);
  if (cache_path === null) return reading;
  // A boot counts as read only when the slow part answered: else it is asked again next time.
  const boot = accelerators.reason === null ? source.boot : (cache?.boot ?? null);
  const next = { ...toCache(reading, source), boot };
  if (JSON.stringify(next) === JSON.stringify(cache)) return reading;
  const fault = saveDeviceCache(cache_path, next);
  return fault === null
    ? reading
    : { ...reading, notes: [...reading.notes, `not written down: ${fault}`] };
}
