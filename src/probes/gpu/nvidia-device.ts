import { coarseMb, type Accelerator } from "../device-reading.ts";
import { known, unknown, type Reading } from "../reading.ts";
import type { Tools } from "../tool.ts";
import { parseNvidiaList, type ListedGpu } from "./nvidia-list.ts";
import { cellNumber, nvidiaError, parseNvidiaCsv, type NvidiaRow } from "./nvidia-csv.ts";

const COLUMNS = ["index", "name", "driver_version", "memory.total", "mig.mode.current"];
const MIB = 1_048_576;

/** One that is cut into instances (MIG) is another device than a whole one, or than other cuts. */
function cutText(row: NvidiaRow, list: readonly ListedGpu[]): string {
  if (row["mig.mode.current"] !== "Enabled") return "";
  const gpu = list.find(({ index }) => index === cellNumber(row["index"]));
  return ` (MIG${gpu === undefined ? "" : ` ${gpu.instances.join(" ")}`.trimEnd()})`;
}

function accelerator(row: NvidiaRow, list: readonly ListedGpu[]): Accelerator {
  const total_mib = cellNumber(row["memory.total"]);
  return {
    name: `${row["name"] ?? "NVIDIA GPU"}${cutText(row, list)}`,
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
  if (rows.length === 0) return unknown("nvidia-smi lists no GPU");
  const cut = rows.some((row) => row["mig.mode.current"] === "Enabled");
  const list = cut ? await tools.ask("nvidia-smi", "-L") : undefined;
  if (list?.ok === false) return unknown(list.reason ?? "nvidia-smi -L failed");
  const listed = parseNvidiaList(list?.text ?? "");
  return known(rows.map((row) => accelerator(row, listed)));
}
