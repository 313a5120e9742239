import { systemClock, type Clock } from "../core/clock.ts";
import { readLoad } from "./idleness.ts";
import { powerSupplies } from "./linux/power-supply.ts";
import { energyZones, packagePower } from "./linux/rapl.ts";
import { processorTemperature } from "./linux/temperature.ts";
import { inputPower, readTegra } from "./linux/tegra.ts";
import { ThrottleWatch } from "./linux/throttle.ts";
import { parseThermalLevel } from "./macos/power.ts";
import { parsePowermetrics } from "./macos/powermetrics.ts";
import { readPower } from "./power.ts";
import { attempt, known, unknown, type Reading } from "./reading.ts";
import { systemTools, type Tools } from "./tool.ts";

/** Heat and energy are told by counters: this long lies between the two looks. */
const BETWEEN_MS = 1000;
const TEGRA_LIMIT_MS = 3000;

/** How the machine was when something was measured: no part of what it is. */
export interface Conditions {
  power_source: Reading<"ac" | "battery">;
  /** Charge of the battery that is charged least, percent; null where there is none. */
  battery_pct: Reading<number>;
  /** `throttled`: slowed down by heat at this moment. */
  thermal: Reading<"nominal" | "throttled">;
  /** Hottest sensor of the processor, degrees Celsius. */
  temperature_c: Reading<number>;
  /** What the processor takes (a Jetson: the whole module), watts; most systems tell it to root alone. */
  package_w: Reading<number>;
  /** Tasks that want a processor, mean of a minute, for each one there is: 1 is fully busy. */
  load: Reading<number>;
}

export interface ConditionsOptions {
  clock?: Clock;
  platform?: NodeJS.Platform;
  /** Where /proc and /sys are; "/" but in tests. */
  root?: string;
  env?: Record<string, string>;
  tools?: Tools;
}

function batteryCharge(root: string): Reading<number> {
  return attempt(() => {
    const own = powerSupplies(root).filter(({ scope }) => scope !== "Device");
    const charges = own.flatMap(({ capacity_pct: pct }) => (pct === null ? [] : [pct]));
    return charges.length === 0 ? unknown("no battery is told") : known(Math.min(...charges));
  });
}

/** `81%` in what `pmset -g batt` prints of each battery. */
async function macCharge(tools: Tools): Promise<Reading<number>> {
  const answer = await tools.ask("pmset", "-g", "batt");
  const pct = /\b(\d+)%/.exec(answer.text)?.[1];
  return pct === undefined ? unknown(answer.reason ?? "no battery is told") : known(Number(pct));
}

type Heat = Pick<Conditions, "thermal" | "temperature_c" | "package_w">;

function level(throttled: boolean): "nominal" | "throttled" {
  return throttled ? "throttled" : "nominal";
}

/** A Jetson counts no energy where others do, and has a tool of its own. */
async function withTegra(heat: Heat, options: ConditionsOptions, clock: Clock): Promise<Heat> {
  const tools = options.tools ?? systemTools(options);
  if (heat.package_w.value !== null || !tools.has("tegrastats")) return heat;
  const stats = await readTegra(clock, TEGRA_LIMIT_MS, options.env);
  if (stats.value === null) return { ...heat, package_w: stats };
  const { cpu_c } = stats.value;
  return {
    ...heat,
    temperature_c: cpu_c === null ? heat.temperature_c : known(cpu_c),
    package_w: inputPower(stats.value),
  };
}

async function linuxHeat(root: string, clock: Clock): Promise<Heat> {
  const watch = new ThrottleWatch(root, clock);
  const start_ms = clock.monotonic_ms();
  const before = energyZones(root);
  attempt(() => known(watch.begin()));
  await clock.sleep(BETWEEN_MS);
  const slowed = attempt(() => watch.read(true));
  watch.close();
  return {
    thermal: slowed.value === null ? slowed : known(level(slowed.value)),
    temperature_c: processorTemperature(root),
    package_w: packagePower(before, energyZones(root), clock.monotonic_ms() - start_ms),
  };
}

/** powermetrics wants root; without a rule that lets us, sudo says so at once and asks nobody. */
async function macHeat(tools: Tools): Promise<Heat> {
  const asked = await tools.ask(
    "sudo",
    "-n",
    "powermetrics",
    "--samplers",
    "cpu_power,thermal",
    "-n",
    "1",
    "-i",
    String(BETWEEN_MS),
  );
  const { combined_mw, thermal_pressure } = parsePowermetrics(asked.text);
  const told =
    thermal_pressure ??
    parseThermalLevel(
      (await tools.ask("notifyutil", "-g", "com.apple.system.thermalpressurelevel")).text,
    ).value;
  const reason = asked.reason ?? "powermetrics tells no power";
  return {
    thermal: told === null ? unknown(reason) : known(level(told !== "Nominal")),
    temperature_c: unknown("macOS tells no temperature, only its thermal level"),
    package_w: combined_mw === null ? unknown(reason) : known(combined_mw / 1000),
  };
}

/** Linux counts tasks that wait for a disk too. */
/** How the machine is now. Takes about a second. Never rejects. */
export async function readConditions(options: ConditionsOptions = {}): Promise<Conditions> {
  const { platform = process.platform, clock = systemClock, root = "/" } = options;
  const none = unknown(`${platform} is not known here`);
  let heat: Heat = { thermal: none, temperature_c: none, package_w: none };
  let battery_pct: Reading<number> = none;
  if (platform === "linux") {
    heat = await withTegra(await linuxHeat(root, clock), options, clock);
    battery_pct = batteryCharge(root);
  }
  if (platform === "darwin") {
    const tools = options.tools ?? systemTools(options);
    [heat, battery_pct] = await Promise.all([macHeat(tools), macCharge(tools)]);
  }
  const { source, reason } = await readPower(options);
  return {
    power_source: source === null ? unknown(reason ?? "not told") : known(source),
    battery_pct,
    ...heat,
    load: readLoad(),
  };
}
