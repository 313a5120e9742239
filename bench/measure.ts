/** One row of `npm run bench`: a ratio or share, so that it means the same on another machine. */
export interface Measure {
  name: string;
  /** null where it could not be measured; `note` says why. */
  value: number | null;
  unit: string;
  /** What the value has to be, `< 0.3`. */
  goal: string;
  /** null where there is no value. */
  met: boolean | null;
  note?: string;
}

/** A row whose value has to stay below `limit`. */
export function measure(
  name: string,
  value: number,
  unit: string,
  limit: number,
  note: string,
): Measure {
  return { name, value, unit, goal: `< ${limit}`, met: value < limit, note };
}

/** The value below which the share `q` of `values` lies; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
