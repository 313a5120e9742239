/** What a sample of `powermetrics` tells; null where its samplers or its version do not. */
export interface Powermetrics {
  model: string | null;
  os_build: string | null;
  elapsed_ms: number | null;
  thermal_pressure: string | null;
  cpu_mw: number | null;
  gpu_mw: number | null;
  ane_mw: number | null;
  dram_mw: number | null;
  gpu_energy_mj: number | null;
  /** CPU, GPU and neural engine together; `Package Power` (with memory) in older versions. */
  combined_mw: number | null;
}

type Find = (pattern: RegExp) => string | null;

function finder(text: string): Find {
  return (pattern) => pattern.exec(text)?.[1] ?? null;
}

function number(text: string | null): number | null {
  return text === null ? null : Number(text);
}

/** A live property list has its samples apart by NUL bytes. The first whole one counts. */
function fromPlist(text: string): Powermetrics {
  const sample = text.split("\0").find((part) => part.includes("</plist>")) ?? "";
  const find = finder(sample);
  const string = (key: string): string | null =>
    find(new RegExp(`<key>${key}</key>\\s*<string>([^<]*)</string>`));
  const value = (key: string): number | null =>
    number(find(new RegExp(`<key>${key}</key>\\s*<(?:integer|real)>([^<]*)<`)));
  const elapsed_ns = value("elapsed_ns");
  return {
    model: string("hw_model"),
    os_build: string("kern_osversion"),
    elapsed_ms: elapsed_ns === null ? null : elapsed_ns / 1e6,
    thermal_pressure: string("thermal_pressure"),
    cpu_mw: value("cpu_power"),
    gpu_mw: value("gpu_power"),
    ane_mw: value("ane_power"),
    dram_mw: null,
    gpu_energy_mj: value("gpu_energy"),
    combined_mw: value("combined_power"),
  };
}

/** Parses the first sample of `powermetrics`, as text or as a property list. */
export function parsePowermetrics(text: string): Powermetrics {
  if (text.trimStart().startsWith("<")) return fromPlist(text);
  const find = finder(text);
  const power = (label: string): number | null =>
    number(find(new RegExp(`^${label}: (\\d+) mW`, "m")));
  return {
    model: find(/^Machine model: (.+)$/m),
    os_build: find(/^OS version: (.+)$/m),
    elapsed_ms: number(find(/\(([\d.]+)ms elapsed\)/)),
    thermal_pressure: find(/^Current pressure level: (\w+)/m),
    cpu_mw: power("CPU Power"),
    gpu_mw: power("GPU Power"),
    ane_mw: power("ANE Power"),
    dram_mw: power("DRAM Power"),
    gpu_energy_mj: null,
    combined_mw: power("Combined Power \\(CPU \\+ GPU \\+ ANE\\)") ?? power("Package Power"),
  };
}
