// How a ratio of two throughputs is said to people.

const sign = (percent: number): string => (percent < 0 ? "-" : "+");

/** `+14 %`, from a ratio. */
export function gainWords(ratio: number): string {
  const percent = Math.round((ratio - 1) * 100);
  return `${sign(percent)}${Math.abs(percent)} %`;
}

function end(ratio: number, towards: (value: number) => number): string {
  // A hair's breadth of binary fractions is no reason to round up.
  const percent = towards(Number(((ratio - 1) * 1000).toFixed(6))) / 10;
  return `${sign(percent)}${Math.abs(percent).toFixed(1)} %`;
}

/**
 * `-3.1 % to +19.9 %`. Rounded to the inside, by less than 0.1 %: an end that is below a limit is not
 * shown as if it reached it. One that is narrower than that is rounded as numbers are.
 */
export function rangeWords(low: number, high: number): string {
  const narrow = high - low < 0.002;
  const [up, down] = narrow ? [Math.round, Math.round] : [Math.ceil, Math.floor];
  return `${end(low, up)} to ${end(high, down)}`;
}
