/** Plain statistics over small samples. Where there is nothing to say the answer is null. */

/** Linear interpolation between order statistics (type 7); `share` from 0 to 1. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  if (low === undefined || high === undefined) return null;
  return low + (high - low) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number | null {
  return percentile(values, 0.5);
}

export function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Sample standard deviation (n - 1); null below two values. */
export function sampleDeviation(values: readonly number[]): number | null {
  const centre = mean(values);
  if (centre === null || values.length < 2) return null;
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}

/** Standard deviation in percent of the mean; null below two values or around a mean of zero. */
export function variationPercent(values: readonly number[]): number | null {
  const centre = mean(values);
  const deviation = sampleDeviation(values);
  if (centre === null || deviation === null || Math.abs(centre) < 1e-12) return null;
  return (deviation / centre) * 100;
}

/** Both ends belong to the interval. */
export interface Interval {
  low: number;
  high: number;
}

/**
 * Interval for the median with a confidence of at least `confidence`, from order statistics alone:
 * the number of values below the true median is binomial (n, 1/2) whatever the distribution is.
 * null where the sample is too small for that confidence (below 6 values at 95 %).
 */
export function medianInterval(values: readonly number[], confidence = 0.95): Interval | null {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  const tail = (1 - confidence) / 2;
  // Logarithms: 2^-n leaves the range of a double long before n leaves ours.
  let logTerm = -n * Math.LN2;
  let below = 0;
  let rank = 0;
  while (rank < n / 2) {
    below += Math.exp(logTerm);
    if (below > tail) break;
    rank += 1;
    logTerm += Math.log((n - rank + 1) / rank);
  }
  const low = sorted[rank - 1];
  const high = sorted[n - rank];
  return rank === 0 || low === undefined || high === undefined ? null : { low, high };
}

/** The largest of the values that are known; null where none is. */
export function knownMax(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => Math.max(a, b));
}

/** The smallest of the values that are known; null where none is. */
export function knownMin(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => Math.min(a, b));
}
