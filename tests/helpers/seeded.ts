/** Small seeded generator (mulberry32): a failure can be run again with its seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of this run, printed; TOUCHSTONED_TEST_SEED plays an earlier run again. */
export function testSeed(): number {
  const seed = Number(process.env["TOUCHSTONED_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
  console.error(`[tests] TOUCHSTONED_TEST_SEED=${seed}`);
  return seed;
}
