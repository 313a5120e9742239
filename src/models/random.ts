/** A stream of numbers from 0 (included) to 1 (excluded). */
export type RandomSource = () => number;

/**
 * A seeded stream (mulberry32, its start state an FNV-1a hash of `name` and `seed`). Each tensor has
 * a stream of its own, so that changing the size of one leaves the others alone.
 */
export function namedRandom(seed: number, name: string): RandomSource {
  let state = 2166136261 ^ seed;
  for (const character of name) {
    state = Math.imul(state ^ character.charCodeAt(0), 16777619) >>> 0;
  }
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Three uniforms summed up and scaled to unit variance: near enough to a normal, and fast. */
export function roughNormal(random: RandomSource): number {
  return (random() + random() + random() - 1.5) * 2;
}
