/** The wall clock alone, for commands that must start fast: nothing is loaded for it. */
export const wallClock = {
  /** Milliseconds since 1970-01-01 UTC. */
  now_ms: (): number => Date.now(),
};
