import { waitAtMost, type Clock } from "../../core/clock.ts";
import { LineStream } from "../line-stream.ts";
import { known, unknown, type Reading } from "../reading.ts";

/** What one line of `tegrastats` tells of a Jetson; null where this board or version does not. */
export interface TegraStats {
  /** Called MB there, and meant in units of 2^20 bytes. */
  ram_used_mib: number | null;
  ram_total_mib: number | null;
  swap_used_mib: number | null;
  gpu_busy_pct: number | null;
  gpu_c: number | null;
  cpu_c: number | null;
  /** Now, by rail: `VDD_GPU_SOC`, `VIN_SYS_5V0` ... */
  rails_mw: ReadonlyMap<string, number>;
}

/** Parses a line of `tegrastats`. */
export function parseTegraStats(line: string): TegraStats {
  const number = (pattern: RegExp): number | null => {
    const found = pattern.exec(line)?.[1];
    return found === undefined ? null : Number(found);
  };
  const rails = [...line.matchAll(/\b(V\w+) (\d+)(?:mW)?\//g)];
  return {
    ram_used_mib: number(/\bRAM (\d+)\/\d+MB/),
    ram_total_mib: number(/\bRAM \d+\/(\d+)MB/),
    swap_used_mib: number(/\bSWAP (\d+)\/\d+MB/),
    gpu_busy_pct: number(/\bGR3D_FREQ (\d+)%/),
    gpu_c: number(/\bgpu@([\d.]+)C/i),
    cpu_c: number(/\bcpu@([\d.]+)C/i),
    rails_mw: new Map(rails.map(([, name = "", mw]) => [name, Number(mw)])),
  };
}

/** What the whole module takes: the rail of the input where there is one, else all rails together. */
export function inputPower(stats: TegraStats): Reading<number> {
  const rails = [...stats.rails_mw];
  if (rails.length === 0) return unknown("tegrastats tells no power");
  const input = rails.filter(([name]) => name.startsWith("VIN") || name === "VDD_IN");
  const counted = input.length === 0 ? rails : input;
  return known(counted.reduce((sum, [, mw]) => sum + mw, 0) / 1000);
}

/** One line of the tool, which would print for ever. */
export async function readTegra(
  clock: Clock,
  limit_ms: number,
  env?: Record<string, string>,
): Promise<Reading<TegraStats>> {
  let told: TegraStats | undefined;
  const stream = new LineStream({
    name: "tegrastats",
    file: "tegrastats",
    args: ["--interval", "500"],
    clock,
    ...(env === undefined ? {} : { env }),
    onLine: (line) => (told ??= parseTegraStats(line)),
  });
  await waitAtMost(stream.spoke, limit_ms, clock);
  const fault = stream.fault(limit_ms);
  stream.close();
  return told === undefined ? unknown(fault ?? "tegrastats tells nothing") : known(told);
}
