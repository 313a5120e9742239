import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt, known, unknown, type Reading } from "../reading.ts";

/** Drivers of the sensors inside processors. */
const CPU_CHIPS = /^(k10temp|zenpower|coretemp|cpu_thermal)$/;
/** Thermal zones that stand for the processor, on machines without such a driver. */
const CPU_ZONES = /^x86_pkg_temp$|cpu|soc/i;

function names(directory: string, pattern: RegExp): string[] {
  const all = attempt(() => known(readdirSync(directory))).value ?? [];
  return all.filter((name) => pattern.test(name)).sort();
}

/** Text of an attribute; empty where it cannot be read (a sleeping device says ENODATA). */
function text(path: string): string {
  return attempt(() => known(readFileSync(path, "latin1").trim())).value ?? "";
}

export interface Sensor {
  /** Driver of the chip (`k10temp`) or type of the zone (`cpu-thermal`). */
  chip: string;
  /** What the driver calls this sensor (`Tctl`); null where it has no name. */
  label: string | null;
  celsius: number;
}

/** Both kinds of files tell thousandths of a degree. */
function sensor(chip: string, path: string, label: string): Sensor[] {
  const thousandths = text(path);
  const celsius = thousandths === "" ? Number.NaN : Number(thousandths) / 1000;
  return Number.isNaN(celsius) ? [] : [{ chip, label: label === "" ? null : label, celsius }];
}

/** All sensors of `/sys/class/hwmon`. */
export function hwmonSensors(root: string): Sensor[] {
  const folder = join(root, "sys/class/hwmon");
  return names(folder, /^hwmon\d+$/).flatMap((one) => {
    const chip = text(join(folder, one, "name"));
    return names(join(folder, one), /^temp\d+_input$/).flatMap((input) => {
      const label = text(join(folder, one, input.replace("_input", "_label")));
      return sensor(chip, join(folder, one, input), label);
    });
  });
}

/** All zones of `/sys/class/thermal`. */
export function thermalZones(root: string): Sensor[] {
  const folder = join(root, "sys/class/thermal");
  return names(folder, /^thermal_zone\d+$/).flatMap((zone) =>
    sensor(text(join(folder, zone, "type")), join(folder, zone, "temp"), ""),
  );
}

/** The hottest sensor of the processor, in degrees Celsius. */
export function processorTemperature(root: string): Reading<number> {
  const chips = hwmonSensors(root).filter(({ chip }) => CPU_CHIPS.test(chip));
  const sensors =
    chips.length > 0 ? chips : thermalZones(root).filter(({ chip }) => CPU_ZONES.test(chip));
  if (sensors.length === 0) return unknown("no sensor of the processor is readable");
  return known(Math.max(...sensors.map(({ celsius }) => celsius)));
}
