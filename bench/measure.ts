/** One row of `npm run bench`: a ratio or share, so that it means the same on another machine. */
export interface Measure {
  name: string;
  /** null where it could not be measured; `note` says why. */
  value: number | null;
  unit: string;
  /** What the value has to stay below. */
  goal: number;
  /** null where there is no value. */
  met: boolean | null;
  note: string;
}

/** A row from a value that has to stay at or below `goal`. */
export function measure(
  name: string,
  value: number | null,
  unit: string,
  goal: number,
  note = "",
): Measure {
  return { name, value, unit, goal, met: value === null ? null : value <= goal, note };
}

/** The value below which the share `q` of `values` lies; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
