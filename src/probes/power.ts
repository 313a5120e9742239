import { runCommand } from "../core/process.ts";
import { linuxPower } from "./linux/power-supply.ts";
import { parsePmset } from "./macos/power.ts";
import { unknown, type Reading } from "./reading.ts";
import type { PowerReading } from "./sample.ts";

interface PowerOptions {
  platform?: NodeJS.Platform;
  /** Where /sys and /proc are; "/" but in tests. */
  root?: string;
  env?: Record<string, string>;
}

async function macPower(
  env: Record<string, string> | undefined,
): Promise<Reading<"ac" | "battery">> {
  const asked = await runCommand("pmset", ["-g", "batt"], {
    timeout_s: 5,
    ...(env === undefined ? {} : { env }),
  });
  return asked.ok ? parsePmset(asked.stdout) : unknown(`pmset: ${asked.error ?? "failed"}`);
}

/** What feeds this machine now; null with the reason where that cannot be known. Never rejects. */
export async function readPower(options: PowerOptions = {}): Promise<PowerReading> {
  const platform = options.platform ?? process.platform;
  let reading: Reading<"ac" | "battery"> = unknown(`${platform} is not known here`);
  if (platform === "linux") reading = linuxPower(options.root ?? "/");
  if (platform === "darwin") reading = await macPower(options.env);
  return { source: reading.value, reason: reading.reason };
}
