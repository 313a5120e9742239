/** One GPU as `nvidia-smi --format=csv` prints it: the text of each column, null where not told. */
export type NvidiaRow = Readonly<Record<string, string | null>>;

/** `[N/A]`, `[Not Supported]`, `[Insufficient Permissions]`, `[Unknown Error]`, `N/A` ... */
function cellText(cell: string): string | null {
  const text = cell.trim();
  return text === "" || text === "N/A" || /^\[.*\]$/.test(text) ? null : text;
}

function header(cells: readonly string[]): string[] | undefined {
  const names = cells.map((cell) => cell.trim().replace(/ \[.*\]$/, ""));
  const known = names.some((name) => /^(index|name|uuid|memory\.(used|total))$/.test(name));
  return known ? names : undefined;
}

/**
 * Parses the lines of `nvidia-smi --query-gpu=COLUMNS --format=csv[,noheader][,nounits]`. A header
 * line overrules `columns`. Lines that are no row (errors, tables) are given back as `other`.
 */
export function parseNvidiaCsv(
  text: string,
  columns: readonly string[],
): { rows: NvidiaRow[]; other: string[] } {
  let names = columns;
  const rows: NvidiaRow[] = [];
  const other: string[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const cells = line.split(",");
    const found = header(cells);
    if (found !== undefined) names = found;
    else if (cells.length !== names.length) other.push(line.trim());
    else {
      rows.push(Object.fromEntries(names.map((name, i) => [name, cellText(cells[i] ?? "")])));
    }
  }
  return { rows, other };
}

/**
 * Whether a line says that the card has no such thing, as those do that use the host's memory. A cell
 * that tells of an error or of missing rights says nothing of the kind.
 */
export function saysNone(line: string, columns: readonly string[], name: string): boolean {
  const cell = line.split(",")[columns.indexOf(name)]?.trim();
  return cell === "[N/A]" || cell === "N/A" || cell === "[Not Supported]";
}

/** A number cell with or without its unit: `214 MiB`, `39.32 W`, `0x0000000000000004`. */
export function cellNumber(cell: string | null | undefined): number | null {
  const [first] = (cell ?? "").split(" ");
  const value = first === undefined || first === "" ? Number.NaN : Number(first);
  return Number.isNaN(value) ? null : value;
}

/**
 * Bits of `clocks_throttle_reasons.active` that mean slowed down against its will: 0x8 hardware
 * slowdown, 0x20 software thermal, 0x40 hardware thermal, 0x80 power brake. The power cap (0x4) and
 * idle (0x1) are how a healthy card works.
 */
const SLOWED = 0x8 | 0x20 | 0x40 | 0x80;

export function slowedDown(mask: number): boolean {
  return ((mask % 0x100) & SLOWED) !== 0;
}

type NvidiaErrorCode =
  | "driver_library_mismatch"
  | "driver_not_loaded"
  | "blocked_by_os"
  | "device_handle"
  | "invalid_field"
  | "no_devices";

export interface NvidiaError {
  code: NvidiaErrorCode;
  /** The card that it is about, or the version of the library; null where it names none. */
  detail: string | null;
  /** One line for a record. */
  reason: string;
}

const ERRORS: readonly [RegExp, NvidiaErrorCode, string][] = [
  [
    /Driver\/library version mismatch(?:\s+NVML library version: (\S+))?/,
    "driver_library_mismatch",
    "driver and library differ in version (the machine wants a reboot)",
  ],
  [
    /couldn't communicate with the NVIDIA driver/,
    "driver_not_loaded",
    "the NVIDIA driver is not loaded",
  ],
  [
    /GPU access blocked by the operating system/,
    "blocked_by_os",
    "the operating system blocks access to the GPU",
  ],
  [
    /Unable to determine the device handle for (GPU\S*(?: [0-9A-Fa-f:.]+\.\d)?)/,
    "device_handle",
    "a GPU is lost",
  ],
  [/is not a valid field to query/, "invalid_field", "this nvidia-smi does not know a column"],
  [/No devices were found/, "no_devices", "no NVIDIA device was found"],
];

/** What a line of nvidia-smi that is no row complains about; undefined where it is none of these. */
export function nvidiaError(text: string): NvidiaError | undefined {
  for (const [pattern, code, meaning] of ERRORS) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const detail = found[1]?.replace(/:$/, "") ?? null;
    const which = detail === null ? "" : ` (${detail})`;
    return { code, detail, reason: `nvidia-smi: ${meaning}${which}` };
  }
  return undefined;
}
