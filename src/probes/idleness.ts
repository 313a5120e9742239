import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { shareOfMinute } from "./linux/pressure.ts";
import { readPower } from "./power.ts";
import { known, unknown, type Reading } from "./reading.ts";

/** Whether this machine is at work, by what costs nothing to read. */
export interface Idleness {
  /** Tasks that want a processor, mean of a minute, for each one there is: 1 is fully busy. */
  load: Reading<number>;
  /** Share of the last minute in which some task waited for memory; Linux tells it. */
  pressure: Reading<number>;
  power: Reading<"ac" | "battery">;
}

/** Mean load of a minute for each processor. */
export function readLoad(): Reading<number> {
  const [minute = 0] = loadavg();
  const processors = cpus().length;
  if (processors === 0) return unknown("no processor is told");
  return known(Math.round((minute / processors) * 100) / 100);
}

function readPressure(platform: NodeJS.Platform, root: string): Reading<number> {
  if (platform !== "linux") return unknown(`${platform} does not tell it`);
  try {
    const share = shareOfMinute(readFileSync(join(root, "proc/pressure/memory"), "utf8"));
    return share === null ? unknown("pressure stall information without avg60") : known(share);
  } catch {
    return unknown("this kernel keeps no pressure stall information");
  }
}

/** Never rejects. */
export async function readIdleness(
  options: { platform?: NodeJS.Platform; root?: string; env?: Record<string, string> } = {},
): Promise<Idleness> {
  const { platform = process.platform, root = "/" } = options;
  const { source, reason } = await readPower(options);
  return {
    load: readLoad(),
    pressure: readPressure(platform, root),
    power: source === null ? unknown(reason ?? "not told") : known(source),
  };
}
