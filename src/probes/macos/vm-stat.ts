/** One table of `vm_stat`. */
export interface VmStat {
  page_bytes: number;
  /** By label as printed, without quotes: `Pages wired down`, `Swapouts` ... Pages or events. */
  counts: ReadonlyMap<string, number>;
}

/** Parses what `vm_stat` prints once. Undefined where the page size is missing: nothing counts then. */
export function parseVmStat(text: string): VmStat | undefined {
  const page = /page size of (\d+) bytes/.exec(text)?.[1];
  if (page === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const found of text.matchAll(/^"?([^":\n]+)"?:\s+(\d+)\.?\s*$/gm)) {
    const [, label, count] = found;
    if (label !== undefined) counts.set(label, Number(count));
  }
  return { page_bytes: Number(page), counts };
}

export function vmBytes(stat: VmStat, label: string): number | null {
  const pages = stat.counts.get(label);
  return pages === undefined ? null : pages * stat.page_bytes;
}

/**
 * Used memory in bytes, as Activity Monitor counts it: application memory (anonymous less purgeable
 * pages), wired memory and what the compressor occupies. The file cache is not in it. A model that
 * the GPU holds shows as wired. Null where one of the four is missing.
 */
export function usedBytes(stat: VmStat): number | null {
  const anonymous = vmBytes(stat, "Anonymous pages");
  const purgeable = vmBytes(stat, "Pages purgeable");
  const wired = vmBytes(stat, "Pages wired down");
  const compressor = vmBytes(stat, "Pages occupied by compressor");
  if (anonymous === null || purgeable === null || wired === null || compressor === null) {
    return null;
  }
  return Math.max(0, anonymous - purgeable) + wired + compressor;
}
