import { coarseMb, type Accelerator } from "../device-reading.ts";
import { known, unknown, type Reading } from "../reading.ts";
import type { Tools } from "../tool.ts";
import { cellNumber, nvidiaError, parseNvidiaCsv, type NvidiaRow } from "./nvidia-csv.ts";

const COLUMNS = ["index", "name", "driver_version", "memory.total", "mig.mode.current"];
const MIB = 1_048_576;

function accelerator(row: NvidiaRow): Accelerator {
  const total_mib = cellNumber(row["memory.total"]);
  // One that is cut into instances (MIG) is another device than a whole one.
  const cut = row["mig.mode.current"] === "Enabled" ? " (MIG)" : "";
  return {
    name: `${row["name"] ?? "NVIDIA GPU"}${cut}`,
    driver: row["driver_version"] ?? null,
    memory_mb: total_mib === null ? null : coarseMb(total_mib * MIB),
    cores: null,
  };
}

/** What nvidia-smi lists. Unknown where it fails, and where it complains about one of several. */
export async function nvidiaAccelerators(tools: Tools): Promise<Reading<Accelerator[]>> {
  const ask = (columns: readonly string[]) =>
    tools.ask("nvidia-smi", `--query-gpu=${columns.join(",")}`, "--format=csv,noheader,nounits");
  let columns = COLUMNS;
  let answer = await ask(columns);
  if (nvidiaError(answer.reason ?? "")?.code === "invalid_field") {
    columns = COLUMNS.slice(0, -1); // drivers before 450 know no MIG
    answer = await ask(columns);
  }
  const { rows, other } = parseNvidiaCsv(answer.text, columns);
  const trouble = answer.ok ? other[0] : (answer.reason ?? "nvidia-smi failed");
  if (trouble !== undefined) {
    return unknown(nvidiaError(trouble)?.reason ?? trouble);
  }
  return rows.length === 0 ? unknown("nvidia-smi lists no GPU") : known(rows.map(accelerator));
}
