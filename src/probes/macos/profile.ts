/** `Label: value` of sw_vers and system_profiler; blanks and tabs in any number. */
function field(text: string, label: string): string | null {
  const found = new RegExp(`^[ \\t]*${label}:[ \\t]*(.+?)[ \\t]*$`, "m").exec(text);
  return found?.[1] ?? null;
}

export interface SwVers {
  product: string | null;
  version: string | null;
  build: string | null;
}

/** Parses `sw_vers`. */
export function parseSwVers(text: string): SwVers {
  return {
    product: field(text, "ProductName"),
    version: field(text, "ProductVersion"),
    build: field(text, "BuildVersion"),
  };
}

export interface MacHardware {
  model_identifier: string | null;
  chip: string | null;
  cores: number | null;
  memory_bytes: number | null;
}

/** `4 GB`, `1536 MB`: these are binary units. */
function memoryBytes(value: unknown): number | null {
  const found = /^(\d+) ([MG])B$/.exec(typeof value === "string" ? value.trim() : "");
  return found === null ? null : Number(found[1]) * (found[2] === "G" ? 2 ** 30 : 2 ** 20);
}

/** Parses `system_profiler SPHardwareDataType`. Serial numbers and UUIDs in it are never taken. */
export function parseHardware(text: string): MacHardware {
  const cores = /^\d+/.exec(field(text, "Total Number of Cores") ?? "")?.[0];
  return {
    model_identifier: field(text, "Model Identifier"),
    chip: field(text, "Chip") ?? field(text, "Processor Name"),
    cores: cores === undefined ? null : Number(cores),
    memory_bytes: memoryBytes(field(text, "Memory")),
  };
}

export interface MacGpu {
  model: string;
  cores: number | null;
  /** Of its own; null where it uses the host's. */
  memory_bytes: number | null;
  /** What of Metal it can do, as the system words it: without it no runner computes on it. */
  metal: string | null;
}

interface DisplayEntry {
  spdisplays_mtlgpufamilysupport?: unknown;
  sppci_model?: unknown;
  sppci_cores?: unknown;
  spdisplays_vram?: unknown;
}

function displayEntries(text: string): DisplayEntry[] {
  try {
    const parsed = JSON.parse(text) as { SPDisplaysDataType?: DisplayEntry[] };
    return parsed.SPDisplaysDataType ?? [];
  } catch {
    return [];
  }
}

function coreCount(value: unknown): number | null {
  const cores = Number.parseInt(String(value), 10);
  return Number.isNaN(cores) ? null : cores;
}

/** `spdisplays_metal3`; older ones `Supported, Metal GPUFamily Apple 7`. */
function metalText(value: unknown): string | null {
  return typeof value === "string" ? value.replace(/^(spdisplays_|Supported, )/, "") : null;
}

/** Parses `system_profiler SPDisplaysDataType`, as JSON (`-json`) or as the text of older ones. */
export function parseDisplays(text: string): MacGpu[] {
  if (text.trimStart().startsWith("{")) {
    return displayEntries(text).flatMap((entry) =>
      typeof entry.sppci_model === "string"
        ? [
            {
              model: entry.sppci_model,
              cores: coreCount(entry.sppci_cores),
              // Beside it there is spdisplays_vram_shared, a part of the host's memory.
              memory_bytes: memoryBytes(entry.spdisplays_vram),
              metal: metalText(entry.spdisplays_mtlgpufamilysupport),
            },
          ]
        : [],
    );
  }
  return text.split(/(?=^[ \t]*Chipset Model:)/m).flatMap((part) => {
    const model = field(part, "Chipset Model");
    return model === null
      ? []
      : [
          {
            model,
            cores: coreCount(field(part, "Total Number of Cores")),
            memory_bytes: memoryBytes(field(part, "VRAM \\(Total\\)")),
            metal: metalText(field(part, "Metal(?: Family| Support)?")),
          },
        ];
  });
}
