import { megabytes } from "../reading.ts";
import { cellNumber } from "./nvidia-csv.ts";

/** A process that computes on a GPU. */
export interface GpuProcess {
  pid: number;
  /** Null where the driver does not tell (Windows, and processes of other containers). */
  used_mb: number | null;
}

const MIB = 1_048_576;

/**
 * Parses `nvidia-smi --query-compute-apps=... --format=csv` with its header line. Names of processes
 * may hold commas, so cells behind them are counted from the end; the names themselves are not taken.
 */
export function parseComputeApps(text: string): GpuProcess[] {
  const [header = "", ...lines] = text.split("\n");
  const names = header.split(",").map((cell) => cell.trim().replace(/ \[.*\]$/, ""));
  const pid_at = names.indexOf("pid");
  const used_at = names.indexOf("used_gpu_memory") - names.length;
  if (pid_at < 0 || used_at === -1 - names.length) return [];
  return lines.flatMap((line) => {
    const cells = line.split(",");
    const pid = cellNumber(cells[pid_at]?.trim());
    if (cells.length < names.length || pid === null) return [];
    const used_mib = cellNumber(cells.at(used_at)?.trim());
    return [{ pid, used_mb: used_mib === null ? null : megabytes(used_mib * MIB) }];
  });
}
