export interface RocmCard {
  name: string | null;
  vram_total_bytes: number | null;
  vram_used_bytes: number | null;
  /** What of it the processor can reach; all of it where the BAR is resizable. */
  vram_visible_bytes: number | null;
  temp_edge_c: number | null;
  temp_memory_c: number | null;
  power_w: number | null;
}

type Attributes = Readonly<Record<string, unknown>>;

function text(card: Attributes, ...names: string[]): string | null {
  for (const name of names) {
    const value = card[name];
    if (typeof value === "string" && value !== "" && value !== "N/A") return value;
  }
  return null;
}

/** Older versions print bare PCI numbers where they know no name; the device's is the telling one. */
function cardName(card: Attributes): string | null {
  for (const label of ["Device Name", "Card series", "Card Series", "Card model", "Card Model"]) {
    const name = text(card, label);
    if (name !== null && !/^0x[0-9a-f]+$/i.test(name)) return name;
  }
  return text(card, "GPU ID", "Device ID");
}

/** All values are strings, also numbers. */
function number(card: Attributes, name: string): number | null {
  const value = text(card, name);
  return value === null || Number.isNaN(Number(value)) ? null : Number(value);
}

/**
 * Parses `rocm-smi ... --json`: the entries `card0`, `card1` ...; `system` beside them is no GPU.
 * Gives undefined where the text is not that.
 */
export function parseRocmSmi(json: string): RocmCard[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  return Object.entries(parsed)
    .filter(([name]) => /^card\d+$/.test(name))
    .map(([, value]) => value as Attributes)
    .map((card) => ({
      name: cardName(card),
      vram_total_bytes: number(card, "VRAM Total Memory (B)"),
      vram_used_bytes: number(card, "VRAM Total Used Memory (B)"),
      vram_visible_bytes: number(card, "VIS_VRAM Total Memory (B)"),
      temp_edge_c: number(card, "Temperature (Sensor edge) (C)"),
      temp_memory_c: number(card, "Temperature (Sensor memory) (C)"),
      power_w: number(card, "Average Graphics Package Power (W)"),
    }));
}
