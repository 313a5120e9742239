// The beta distribution, which gives both Student's t and the exact bounds of a binomial share.

/** Lanczos (g = 7, nine terms): relative error below 1e-13 for x > 0. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
] as const;

function logGamma(x: number): number {
  const shifted = x - 1;
  const base = shifted + 7.5;
  let sum: number = LANCZOS[0];
  for (const [index, term] of LANCZOS.slice(1).entries()) sum += term / (shifted + index + 1);
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(sum);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const guard = (value: number): number => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / guard(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 300; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    const step = d * c;
    result *= step;
    if (Math.abs(step - 1) < 1e-14) break;
  }
  return result;
}

/** Regularised incomplete beta function: P(X <= x) for X ~ Beta(a, b). */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return x < (a + 1) / (a + b + 2)
    ? (front * betaFraction(x, a, b)) / a
    : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** Where an increasing function of [low, high] reaches `target`. */
export function solve(
  rising: (x: number) => number,
  target: number,
  low: number,
  high: number,
): number {
  let [left, right] = [low, high];
  for (let step = 0; step < 100 && right - left > 1e-12 * Math.max(1, Math.abs(left)); step++) {
    const middle = (left + right) / 2;
    if (rising(middle) < target) left = middle;
    else right = middle;
  }
  return (left + right) / 2;
}

function betaQuantile(target: number, a: number, b: number): number {
  return solve((x) => betaCdf(x, a, b), target, 0, 1);
}

/** Exact (Clopper-Pearson) lower bound of a share at one-sided `confidence`, after `hits` of `trials`. */
export function shareLow(hits: number, trials: number, confidence: number): number {
  return hits === 0 ? 0 : betaQuantile(1 - confidence, hits, trials - hits + 1);
}
