import { parseComputeApps } from "../../../src/probes/gpu/nvidia-apps.ts";
import {
  cellNumber,
  nvidiaError,
  parseNvidiaCsv,
  slowedDown,
} from "../../../src/probes/gpu/nvidia-csv.ts";
import { nvidiaAccelerators } from "../../../src/probes/gpu/nvidia-device.ts";
import { parseNvidiaList } from "../../../src/probes/gpu/nvidia-list.ts";
import { parseNvidiaTable } from "../../../src/probes/gpu/nvidia-table.ts";
import { parseRocmSmi } from "../../../src/probes/gpu/rocm.ts";
import { fakeTools } from "../../helpers/probe-tools.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";

const COLUMNS = [
  "name",
  "memory.total",
  "memory.used",
  "driver_version",
  "temperature.gpu",
  "power.draw",
  "clocks_throttle_reasons.active",
];
/** Columns that two of the recordings have beside these. */
const MORE: Readonly<Record<string, string[]>> = {
  "09-h200-mig-load": ["mig.mode.current", "utilization.gpu"],
  "13-h100-idle-fan-na": ["utilization.gpu", "fan.speed"],
};

const csv: SampleReader = ({ path, text }) => {
  const more = Object.entries(MORE).find(([name]) => path.includes(name))?.[1] ?? [];
  const { rows, other } = parseNvidiaCsv(text, [...COLUMNS, ...more]);
  if (rows.length !== 1 || other.length > 0) return { rows: rows.length };
  const [row = {}] = rows;
  const mask = cellNumber(
    row["clocks_throttle_reasons.active"] ?? row["clocks_event_reasons.active"],
  );
  return {
    name: row["name"],
    driver: row["driver_version"],
    memory_total_mib: cellNumber(row["memory.total"]),
    memory_used_mib: cellNumber(row["memory.used"]),
    temp_c: cellNumber(row["temperature.gpu"]),
    power_w: cellNumber(row["power.draw"]),
    throttle_mask: mask,
    throttled_thermal: mask === null ? null : slowedDown(mask),
    mig: row["mig.mode.current"] === "Enabled",
    utilization: row["utilization.gpu"],
    fan: row["fan.speed"],
  };
};

const table: SampleReader = ({ text }) => {
  const { gpus, instances, driver, cuda } = parseNvidiaTable(text);
  const [gpu] = gpus;
  return {
    ...gpu,
    driver,
    cuda,
    instances: instances.length,
    instance_total_mib: instances.map(({ total_mib }) => total_mib).join(),
  };
};

/** The error by itself, and what the whole list of accelerators is worth with it. */
const error: SampleReader = async ({ text }) => {
  const reason = `nvidia-smi: ${text.split("\n", 1)[0]}`;
  const tools = fakeTools({ "nvidia-smi": { ok: false, text, reason } });
  const found = nvidiaError(text);
  const { value } = await nvidiaAccelerators(tools);
  return { gpu: value, error: found?.code, detail: found?.detail };
};

const list: SampleReader = ({ text }) => {
  const gpus = parseNvidiaList(text);
  return {
    gpus: gpus.length,
    names: gpus.map(({ name }) => name).join(),
    instances: gpus.flatMap(({ instances }) => instances).join(),
  };
};

const apps: SampleReader = ({ text }) => {
  const processes = parseComputeApps(text);
  const known = processes.flatMap(({ used_mb }) => (used_mb === null ? [] : [used_mb]));
  return {
    processes: processes.length,
    used_known: known.length,
    used_na: processes.length - known.length,
    used_sum_mib: Math.round((known.reduce((sum, mb) => sum + mb, 0) * 1e6) / 2 ** 20),
  };
};

const rocm: SampleReader = ({ text }) => {
  const cards = parseRocmSmi(text) ?? [];
  return { ...cards[0], gpus: cards.length };
};

export const GPU_READERS: Readonly<Record<string, SampleReader>> = {
  "nvidia-smi-csv": csv,
  "nvidia-smi-table": table,
  "nvidia-smi-error": error,
  "nvidia-smi-L": list,
  "nvidia-smi-compute-apps": apps,
  "rocm-smi": rocm,
};
