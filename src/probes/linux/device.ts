import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { coarseBytes, coarseMb, type Accelerator, type DeviceSource } from "../device-reading.ts";
import { nvidiaAccelerators } from "../gpu/nvidia-device.ts";
import { parseRocmSmi } from "../gpu/rocm.ts";
import { attempt, known, unknown, type Reading } from "../reading.ts";
import type { Tools } from "../tool.ts";
import { boardGpus, busCards, computing, hiddenByWsl, integrated, type BusCard } from "./bus.ts";
import { hardwareName, processorName } from "./hardware.ts";
import { parseOsRelease, shortText, wholeText } from "./identity.ts";
import { parseMemInfo } from "./memory.ts";

/** Distribution and version; the code name where a rolling release has no version. */
function osRelease(root: string): Reading<string> {
  const text =
    wholeText(join(root, "etc/os-release")) ?? wholeText(join(root, "usr/lib/os-release"));
  const { id, version_id, codename } = parseOsRelease(text ?? "");
  if (id === null) return unknown("no os-release names the distribution");
  const version = version_id ?? codename;
  return known(version === null ? id : `${id} ${version}`);
}

function memory(root: string): Reading<number> {
  const { total_bytes } = parseMemInfo(wholeText(join(root, "proc/meminfo")) ?? "");
  return total_bytes === null
    ? unknown("/proc/meminfo has no MemTotal")
    : known(coarseBytes(total_bytes));
}

type Part = Reading<readonly Accelerator[]>;

async function nvidia(cards: readonly BusCard[] | null, tools: Tools): Promise<Part> {
  const shown = cards?.some(({ vendor }) => vendor === "nvidia") === true;
  if (!shown && !tools.has("nvidia-smi")) return known([]);
  const read = await nvidiaAccelerators(tools);
  // A tool without a card: the bus knows better.
  return read.value === null && cards !== null && !shown ? known([]) : read;
}

/** By the numbers on the bus: names come from lists that grow with each update. */
function amdCard(root: string, card: BusCard): Reading<Accelerator> {
  const directory = join(root, "sys/bus/pci/devices", card.slot);
  const file = join(directory, "mem_info_vram_total");
  const total = attempt(() => known(Number.parseInt(readFileSync(file, "latin1"), 10)));
  if (total.value === null) return unknown(`the AMD card at ${card.slot}: ${total.reason}`);
  const product = shortText(join(directory, "product_name"));
  const version = shortText(join(root, "sys/module/amdgpu/version"));
  return known({
    name: `AMD ${product ?? card.device}`,
    driver: version ?? card.driver,
    memory_mb: coarseMb(total.value),
    cores: null,
  });
}

async function amd(root: string, cards: readonly BusCard[] | null, tools: Tools): Promise<Part> {
  const shown = (cards ?? []).filter(({ vendor }) => vendor === "amd");
  const read = shown.map((card) => amdCard(root, card));
  const trouble = read.find(({ reason }) => reason !== null)?.reason ?? null;
  if (trouble === null && (shown.length > 0 || cards !== null || !tools.has("rocm-smi"))) {
    return known(read.flatMap(({ value }) => (value === null ? [] : [value])));
  }
  const answer = await tools.ask(
    "rocm-smi",
    "--showproductname",
    "--showmeminfo",
    "vram",
    "--json",
  );
  const listed = parseRocmSmi(answer.text);
  if (listed === undefined || listed.length < shown.length) {
    return unknown([trouble, answer.reason].filter((text) => text !== null).join("; "));
  }
  return known(
    listed.map(({ name, vram_total_bytes: bytes }) => ({
      name: `AMD ${name ?? "GPU"}`,
      driver: "amdgpu",
      memory_mb: bytes === null ? null : coarseMb(bytes),
      cores: null,
    })),
  );
}

/** Cards that bring no tool: Intel's by number; one of another maker cannot be named. */
function others(cards: readonly BusCard[]): Part {
  const rest = cards.filter(({ vendor }) => vendor !== "nvidia" && vendor !== "amd");
  const foreign = rest.find(({ vendor }) => vendor !== "intel");
  if (foreign !== undefined) {
    return unknown(`a card of maker ${foreign.vendor} at ${foreign.slot} is not known here`);
  }
  const outside = rest.find((card) => !integrated(card));
  if (outside !== undefined) {
    return unknown(`the Intel card at ${outside.slot} does not tell its memory`);
  }
  return known(
    rest.map(({ device, driver }) => ({
      name: `Intel ${device}`,
      driver,
      memory_mb: null,
      cores: null,
    })),
  );
}

function onBoard(root: string): Part {
  return known(
    boardGpus(root).map(({ name, driver }) => ({ name, driver, memory_mb: null, cores: null })),
  );
}

async function accelerators(root: string, tools: Tools): Promise<Part> {
  const bus = busCards(root);
  const cards = bus.value === null ? null : computing(bus.value);
  const parts = [
    ...(await Promise.all([nvidia(cards, tools), amd(root, cards, tools)])),
    others(cards ?? []),
    onBoard(root),
  ];
  const reasons = parts.flatMap(({ reason }) => (reason === null ? [] : [reason]));
  if (reasons.length > 0) return unknown(reasons.join("; "));
  const found = parts.flatMap(({ value }) => value ?? []);
  if (found.length > 0) return known(found);
  if (bus.value === null) return unknown(bus.reason);
  return hiddenByWsl(root) ? unknown("WSL does not say which GPU it passes on") : known([]);
}

/** What changes when a card is put in or another driver is loaded; reads files only. */
function busStamp(root: string): string | null {
  const cards = busCards(root).value;
  if (cards === null) return null;
  const list = computing(cards).map(
    ({ slot, vendor, device, driver }) => `${slot}=${vendor}:${device}:${driver ?? "-"}`,
  );
  for (const driver of ["nvidia", "amdgpu"]) {
    const version = shortText(join(root, "sys/module", driver, "version"));
    if (version !== null) list.push(`${driver} ${version}`);
  }
  const drm = attempt(() => known(readdirSync(join(root, "sys/class/drm")))).value ?? [];
  const nodes = drm.filter((name) => /^renderD\d+$/.test(name)).length;
  return [...list, `${nodes} nodes`, existsSync(join(root, "dev/dxg")) ? "wsl" : ""]
    .join(" ")
    .trim();
}

export function linuxDevice(root: string, arch: string, tools: Tools): DeviceSource {
  return {
    facts: {
      os: known(`linux ${arch}`),
      os_release: osRelease(root),
      hardware: hardwareName(root),
      processor: processorName(root),
      memory_bytes: memory(root),
    },
    boot: shortText(join(root, "proc/sys/kernel/random/boot_id")),
    bus: busStamp(root),
    accelerators: () => accelerators(root, tools),
  };
}
