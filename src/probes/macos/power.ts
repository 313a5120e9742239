import { known, unknown, type Reading } from "../reading.ts";

/** Parses `pmset -g batt`. A Mac without a battery says AC too. */
export function parsePmset(text: string): Reading<"ac" | "battery"> {
  const source = /Now drawing from '(AC|Battery|UPS) Power'/.exec(text)?.[1];
  if (source === undefined) return unknown("pmset did not say what feeds the machine");
  return known(source === "AC" ? "ac" : "battery");
}

/**
 * The thermal pressure in a line or a block of `powermetrics --samplers thermal`, as text or as a
 * property list; null where it says nothing of it (most lines do not).
 */
export function thermalPressure(text: string): string | null {
  const found =
    /Current pressure level:\s*(\w+)/.exec(text) ??
    /<key>thermal_pressure<\/key>\s*<string>(\w+)<\/string>/.exec(text);
  return found?.[1] ?? null;
}

/** Levels of `com.apple.system.thermalpressurelevel`, named as powermetrics names them. */
const THERMAL_LEVELS = ["Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"];

/**
 * Parses `notifyutil -g com.apple.system.thermalpressurelevel`: the same level as powermetrics has,
 * without being root.
 */
export function parseThermalLevel(text: string): Reading<string> {
  const found = /thermalpressurelevel (\d+)\s*$/m.exec(text)?.[1];
  const level = found === undefined ? undefined : THERMAL_LEVELS[Number(found)];
  return level === undefined ? unknown("notifyutil told no thermal level") : known(level);
}
