import { cpus, totalmem } from "node:os";
import { cellNumber, parseNvidiaCsv } from "./gpu/nvidia-csv.ts";
import { parseRocmSmi } from "./gpu/rocm.ts";
import { busCards } from "./linux/bus.ts";
import { linuxIdentity } from "./linux/identity.ts";
import { parseDisplays, parseHardware, parseSwVers } from "./macos/profile.ts";
import { parseSysctl } from "./macos/sysctl.ts";
import type { HostIdentity } from "./sample.ts";
import { systemTools } from "./tool.ts";

interface IdentityOptions {
  platform?: NodeJS.Platform;
  root?: string;
  env?: Record<string, string>;
}

type Run = (file: string, ...args: string[]) => Promise<string | null>;

/** Runs a tool of the system; null where it is not there or fails. */
function runner(options: IdentityOptions): Run {
  const tools = systemTools(options);
  return async (file, ...args) => {
    const answer = await tools.ask(file, ...args);
    return answer.ok ? answer.text : null;
  };
}

const GPU_COLUMNS = ["name", "memory.total"];

async function nvidiaNames(run: Run): Promise<string[] | null> {
  const query = `--query-gpu=${GPU_COLUMNS.join(",")}`;
  const text = await run("nvidia-smi", query, "--format=csv,noheader,nounits");
  if (text === null) return null;
  return parseNvidiaCsv(text, GPU_COLUMNS).rows.map((row) => {
    const mib = cellNumber(row["memory.total"]);
    const name = row["name"] ?? "NVIDIA GPU";
    return mib === null ? name : `${name} (${Math.round(mib / 1024)} GiB)`;
  });
}

async function amdNames(run: Run): Promise<string[] | null> {
  const args = ["--showproductname", "--showmeminfo", "vram", "--json"];
  const text = await run("rocm-smi", ...args);
  const cards = text === null ? undefined : parseRocmSmi(text);
  return (
    cards?.map((card) => {
      const name = `AMD ${card.name ?? "GPU"}`;
      if (card.vram_total_bytes === null) return name;
      return `${name} (${Math.round(card.vram_total_bytes / 2 ** 30)} GiB)`;
    }) ?? null
  );
}

/** Names from systeminformation, for GPUs that bring no tool of their own. Loaded only here. */
async function otherNames(): Promise<string[] | null> {
  try {
    const { graphics } = await import("systeminformation");
    const { controllers } = await graphics();
    const names = controllers.map((one) => one.model || one.vendor).filter((name) => name !== "");
    return names.length === 0 ? null : names;
  } catch {
    return null;
  }
}

/**
 * Each maker's tool is asked where the bus shows its card, or where the tool is there at all (a
 * container may hide the bus). One card that is there and cannot be named makes the list unknown, and
 * so does a bus that cannot be looked at.
 */
async function linuxGpus(root: string, run: Run): Promise<string[] | null> {
  const bus = busCards(root).value;
  const vendors = new Set(bus?.map(({ vendor }) => vendor));
  const nvidia = await nvidiaNames(run);
  const amd = vendors.has("amd") ? await amdNames(run) : [];
  if (vendors.has("nvidia") && nvidia === null) return null;
  const named = [...(nvidia ?? []), ...(amd ?? [])];
  if (bus === null) return named.length === 0 ? null : named;
  const rest = [...vendors].filter((vendor) => vendor !== "nvidia" && vendor !== "amd");
  if (amd !== null && (rest.length === 0 || named.length > 0)) return named;
  return otherNames();
}

async function linux(options: IdentityOptions): Promise<HostIdentity> {
  const root = options.root ?? "/";
  return {
    ...linuxIdentity(root),
    ...common(),
    gpus: await linuxGpus(root, runner(options)),
  };
}

async function macos(options: IdentityOptions): Promise<HostIdentity> {
  const run = runner(options);
  const version = parseSwVers((await run("sw_vers")) ?? "");
  const brand = parseSysctl((await run("sysctl", "machdep.cpu.brand_string")) ?? "");
  const hardware = parseHardware((await run("system_profiler", "SPHardwareDataType")) ?? "");
  const displays =
    (await run("system_profiler", "-json", "SPDisplaysDataType")) ??
    (await run("system_profiler", "SPDisplaysDataType"));
  const os = [version.product, version.version].filter((part) => part !== null).join(" ");
  const build = version.build === null ? "" : ` (${version.build})`;
  const chip = brand.get("machdep.cpu.brand_string") ?? hardware.chip;
  const model = hardware.model_identifier === null ? "" : `, ${hardware.model_identifier}`;
  return {
    ...common(),
    os: os === "" ? null : `${os}${build}`,
    chip: chip === null ? null : `${chip}${model}`,
    gpus:
      displays === null
        ? null
        : parseDisplays(displays).map(({ model: name, cores }) =>
            cores === null ? name : `${name} (${cores} cores)`,
          ),
  };
}

/** Cores are logical ones; memory in gigabytes of 10^9 bytes, to a tenth. */
function common(): Pick<HostIdentity, "cores" | "ram_gb" | "node"> {
  const cores = cpus().length;
  return {
    cores: cores === 0 ? null : cores,
    ram_gb: Math.round(totalmem() / 1e8) / 10,
    node: process.version,
  };
}

/** What this machine is, for reports. Nothing that names a person or the host. Never rejects. */
export async function readHostIdentity(options: IdentityOptions = {}): Promise<HostIdentity> {
  const platform = options.platform ?? process.platform;
  if (platform === "linux") return linux(options);
  if (platform === "darwin") return macos(options);
  return { os: platform, chip: cpus()[0]?.model ?? null, ...common(), gpus: await otherNames() };
}
