import { betaCdf, solve } from "./beta.ts";

export interface Interval {
  mean: number;
  /** One-sided bounds, each at the confidence that was asked; -/+ Infinity from a single value. */
  low: number;
  high: number;
  /** Standard error of the mean; null from a single value. */
  error: number | null;
}

/** P(T <= t) for Student's t with `freedom` degrees of freedom (a fraction will do). */
export function studentCdf(t: number, freedom: number): number {
  const tail = betaCdf(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

const known = new Map<string, number>();

/** The t that is exceeded with probability `alpha` (0 < alpha < 0.5). */
export function studentQuantile(alpha: number, freedom: number): number {
  const key = `${alpha}/${freedom}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  let high = 2;
  while (studentCdf(high, freedom) < 1 - alpha && high < 1e9) high *= 2;
  const t = solve((x) => studentCdf(x, freedom), 1 - alpha, 0, high);
  if (known.size > 5000) known.clear();
  known.set(key, t);
  return t;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Unbiased sample variance; null from fewer than two values. */
export function variance(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Student's interval of the mean of independent values, one-sided `alpha` at each end. */
export function studentInterval(values: readonly number[], alpha: number): Interval | null {
  if (values.length === 0) return null;
  const middle = mean(values);
  const spread = variance(values);
  if (spread === null) return { mean: middle, low: -Infinity, high: Infinity, error: null };
  const error = Math.sqrt(spread / values.length);
  const reach = studentQuantile(alpha, values.length - 1) * error;
  return { mean: middle, low: middle - reach, high: middle + reach, error };
}

/** A part of a sum of independent means: its variance, and how well that is known. */
export interface VariancePart {
  variance: number;
  freedom: number;
}

/**
 * Interval of a sum of independent means with variances of their own (Welch and Satterthwaite). The
 * degrees of freedom are rounded down: wider rather than narrower.
 */
export function welchInterval(
  middle: number,
  parts: readonly VariancePart[],
  alpha: number,
): Interval {
  const total = parts.reduce((sum, part) => sum + part.variance, 0);
  if (total <= 0) return { mean: middle, low: middle, high: middle, error: 0 };
  const denominator = parts.reduce((sum, part) => sum + part.variance ** 2 / part.freedom, 0);
  const freedom = Math.max(1, Math.floor(total ** 2 / denominator));
  const error = Math.sqrt(total);
  const reach = studentQuantile(alpha, freedom) * error;
  return { mean: middle, low: middle - reach, high: middle + reach, error };
}
