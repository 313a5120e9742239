/** Strata of depth in tokens; `edges` rise and hold the lower edge of each stratum but the first. */
export function stratumLabels(edges: readonly number[]): string[] {
  const lows = [0, ...edges];
  return lows.map((low, i) => {
    const next = lows[i + 1];
    return next === undefined ? `>=${low}` : `${low}-${next - 1}`;
  });
}

/** Index of the stratum that `depth` falls into. */
export function stratumOf(depth: number, edges: readonly number[]): number {
  let index = 0;
  while (index < edges.length && depth >= (edges[index] ?? Infinity)) index += 1;
  return index;
}

export interface QuotaLimits {
  /** No stratum that has turns in the pool gets fewer, as far as it has them. */
  minimum: number;
  /** Most segments of each stratum, were it alone. */
  available: readonly number[];
}

function indexOfLargest(values: readonly number[]): number | undefined {
  let best: number | undefined;
  for (const [i, value] of values.entries()) {
    if (Number.isFinite(value) && (best === undefined || value > (values[best] ?? 0))) best = i;
  }
  return best;
}

/**
 * How many of `total` segments each stratum gets: its share by largest remainder, at least the
 * minimum, at most what is available; what one stratum lacks goes to the others. Sums to `total`
 * unless all strata together have less; where the minima alone need more, they give way.
 */
export function quotas(total: number, shares: readonly number[], limits: QuotaLimits): number[] {
  const ideal = shares.map((share) => share * total);
  const available = shares.map((_, i) => limits.available[i] ?? 0);
  const least = available.map((cap) => Math.min(limits.minimum, cap));
  const given = ideal.map(Math.floor);
  const sum = (): number => given.reduce((a, b) => a + b, 0);
  const remainders = ideal.map((value, i) => ({ i, rest: value - Math.floor(value) }));
  const byRemainder = remainders.toSorted((a, b) => b.rest - a.rest || a.i - b.i);
  for (const { i } of byRemainder.slice(0, Math.round(total - sum())))
    given[i] = (given[i] ?? 0) + 1;
  for (const i of given.keys()) {
    given[i] = Math.min(Math.max(given[i] ?? 0, least[i] ?? 0), available[i] ?? 0);
  }
  const move = (step: 1 | -1, may: (i: number, now: number) => boolean): boolean => {
    // The stratum that is furthest from its ideal on the side that the step mends.
    const distance = given.map((now, i) => (may(i, now) ? step * ((ideal[i] ?? 0) - now) : NaN));
    const at = indexOfLargest(distance);
    if (at !== undefined) given[at] = (given[at] ?? 0) + step;
    return at !== undefined;
  };
  const until = (done: () => boolean, step: 1 | -1, may: (i: number, now: number) => boolean) => {
    while (!done() && move(step, may)) continue;
  };
  until(
    () => sum() <= total,
    -1,
    (i, now) => now > (least[i] ?? 0),
  );
  // Too few in all for every minimum.
  until(
    () => sum() <= total,
    -1,
    (_, now) => now > 0,
  );
  until(
    () => sum() >= total,
    1,
    (i, now) => now < (available[i] ?? 0),
  );
  return given;
}
