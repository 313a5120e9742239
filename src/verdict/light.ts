// What can be had without a schema library: the judge itself and what it is made of.
export { DEFAULT_BOUNDS, DEFAULT_METHOD } from "./defaults.ts";
export { judge } from "./judge.ts";
export { hardBreaches, ladderBreaches } from "./judge-level.ts";
export { judgeFidelity } from "./fidelity.ts";
export { armRates, blockFault, blockValues, noiseOf } from "./blocks.ts";
export type { Noise } from "./blocks.ts";
export { gainOf, pooledInterval, rulesOutGain } from "./gain.ts";
export type { Gain } from "./gain.ts";
export { studentInterval, studentQuantile, variance } from "./student.ts";
