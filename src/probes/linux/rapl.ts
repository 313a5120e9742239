import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt, known, unknown, type Reading } from "../reading.ts";

/** A running total of energy, which begins anew above `range_uj`. */
export interface EnergyZone {
  /** `package-0` ... */
  name: string;
  energy_uj: Reading<number>;
  range_uj: number | null;
}

/** The packages in `/sys/class/powercap`. Numbers in names of folders are hexadecimal. */
export function energyZones(root: string): EnergyZone[] {
  const folder = join(root, "sys/class/powercap");
  const all = attempt(() => known(readdirSync(folder))).value ?? [];
  return all
    .filter((name) => /^intel-rapl:[0-9a-f]+$/.test(name))
    .sort()
    .map((name) => {
      const number = (file: string): Reading<number> =>
        attempt(() => known(Number.parseInt(readFileSync(join(folder, name, file), "latin1"), 10)));
      const title = attempt(() => known(readFileSync(join(folder, name, "name"), "latin1").trim()));
      return {
        name: title.value ?? name,
        energy_uj: number("energy_uj"),
        range_uj: number("max_energy_range_uj").value,
      };
    });
}

function grown(before: EnergyZone, after: EnergyZone): number | null {
  if (before.energy_uj.value === null || after.energy_uj.value === null) return null;
  const difference = after.energy_uj.value - before.energy_uj.value;
  if (difference >= 0) return difference;
  return after.range_uj === null ? null : difference + after.range_uj;
}

/** Power of the processor packages between two looks. Most systems let root alone read it. */
export function packagePower(
  before: readonly EnergyZone[],
  after: readonly EnergyZone[],
  passed_ms: number,
): Reading<number> {
  if (after.length === 0) return unknown("this machine counts no energy (RAPL)");
  let uj = 0;
  for (const zone of after) {
    const earlier = before.find(({ name }) => name === zone.name);
    const difference = earlier === undefined ? null : grown(earlier, zone);
    if (difference === null) {
      return unknown(`energy of ${zone.name}: ${zone.energy_uj.reason ?? "cannot be compared"}`);
    }
    uj += difference;
  }
  return known(Math.round(uj / passed_ms) / 1000);
}
