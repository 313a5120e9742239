import { memoryCgroupReaders } from "./read-cgroup.ts";
import { dmiText, hardwareName, processorName } from "../../../src/probes/linux/hardware.ts";
import {
  cpuField,
  osReleaseValues,
  parseCpuInfo,
  parseOsRelease,
} from "../../../src/probes/linux/identity.ts";
import { counter, meminfoNumber, parseMemInfo } from "../../../src/probes/linux/memory.ts";
import { powerSupplies } from "../../../src/probes/linux/power-supply.ts";
import { energyZones } from "../../../src/probes/linux/rapl.ts";
import {
  hwmonSensors,
  processorTemperature,
  thermalZones,
} from "../../../src/probes/linux/temperature.ts";
import { readPower } from "../../../src/probes/index.ts";
import { plant, unbundle } from "../../helpers/probe-samples.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A recording by `grep "" FOLDER/*`: path, colon and content; complaints are files not to be read. */
function ungrep(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => /^(\/[^:]+(?::\d+[^:]*)*):(.*)$/.exec(line));
  return Object.fromEntries(
    lines.flatMap((found) => (found === null ? [] : [[found[1] ?? "", `${found[2] ?? ""}\n`]])),
  );
}

/** The files of a recording of several, below a folder of their own. */
function rootWith(text: string, move: (path: string) => string = (path) => path): string {
  const root = tempDir();
  const files = text.startsWith("==> ") ? unbundle(text) : ungrep(text);
  plant(root, Object.fromEntries(Object.entries(files).map(([path, one]) => [move(path), one])));
  return root;
}

const cpuinfo: SampleReader = ({ text }) => {
  const root = tempDir();
  plant(root, { "/proc/cpuinfo": text });
  const { processors, ...info } = parseCpuInfo(text);
  return {
    ...info,
    cpus: processors,
    revision: cpuField(text, "Revision"),
    model: cpuField(text, "Model"),
    implementer: cpuField(text, "CPU implementer"),
    part: cpuField(text, "CPU part"),
    uarch: cpuField(text, "uarch"),
    processor: processorName(root).value?.replace(/ \(\d+ processors?\)$/, "") ?? null,
  };
};

const meminfo: SampleReader = ({ text }) => {
  const info = parseMemInfo(text);
  return {
    mem_total_bytes: info.total_bytes,
    mem_available_bytes: info.available_bytes,
    mem_free_bytes: info.free_bytes,
    swap_total_bytes: info.swap_total_bytes,
    swap_free_bytes: info.swap_free_bytes,
    hugepages_total: meminfoNumber(text, "HugePages_Total"),
  };
};

const vmstat: SampleReader = ({ text }) => ({
  pswpin: counter(text, "pswpin"),
  pswpout: counter(text, "pswpout"),
  pswpin_pages: counter(text, "pswpin"),
  pswpout_pages: counter(text, "pswpout"),
  pgmajfault: counter(text, "pgmajfault"),
  oom_kill: counter(text, "oom_kill"),
});

const osRelease: SampleReader = ({ text }) => {
  const values = osReleaseValues(text);
  const more = { id_like: values.get("ID_LIKE"), variant_id: values.get("VARIANT_ID") };
  return { ...parseOsRelease(text), ...more };
};

const dmi: SampleReader = ({ text, expected }) => {
  const root = rootWith(text);
  const names = Object.keys(expected).filter((name) => name !== "hardware");
  return {
    ...Object.fromEntries(names.map((name) => [name, dmiText(root, name)])),
    hardware: hardwareName(root).value,
  };
};

const power: SampleReader = async ({ text }) => {
  const root = rootWith(text);
  const supplies = powerSupplies(root);
  const battery = supplies.find(({ type }) => type === "Battery");
  const { source } = await readPower({ platform: "linux", root });
  return {
    source,
    ac_online: supplies.find(({ type }) => type === "Mains")?.online,
    status: battery?.status,
    capacity: battery?.capacity_pct,
  };
};

const thermal: SampleReader = ({ text }) => {
  const root = rootWith(text, (path) =>
    path.replace("/sys/devices/virtual/thermal", "/sys/class/thermal"),
  );
  const [zone] = thermalZones(root);
  const processor_c = processorTemperature(root).value;
  return { zone0: zone?.chip, temp_c: zone?.celsius, processor_c };
};

const hwmon: SampleReader = ({ text }) => {
  const root = rootWith(text);
  const sensors = hwmonSensors(root);
  const of = (name: string) =>
    sensors.filter(({ chip }) => chip === name).map(({ celsius }) => celsius);
  return {
    nvme: of("nvme").join(),
    k10temp: of("k10temp").join(),
    labels: sensors.map(({ label }) => label).join(),
    processor_c: processorTemperature(root).value,
  };
};

const rapl: SampleReader = ({ text }) => {
  const root = rootWith(text, (path) => path.replace("/intel-rapl/intel-rapl:", "/intel-rapl:"));
  const zones = energyZones(root);
  const energies = new Set(zones.map(({ energy_uj }) => energy_uj.value));
  return { zones: zones.map(({ name }) => name).join(), energy_uj: [...energies][0] };
};

export const LINUX_READERS: Readonly<Record<string, SampleReader>> = {
  ...memoryCgroupReaders,
  "proc-cpuinfo": cpuinfo,
  "proc-meminfo": meminfo,
  "proc-vmstat": vmstat,
  "os-release": osRelease,
  "dmi-id": dmi,
  power_supply: power,
  thermal,
  hwmon,
  rapl,
};
