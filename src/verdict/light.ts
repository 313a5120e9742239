// What can be had without a schema library: the judge itself and what it is made of.
export { DEFAULT_BOUNDS, DEFAULT_METHOD } from "./defaults.ts";
export { judge } from "./judge.ts";
export { hardBreaches, ladderBreaches } from "./judge-level.ts";
export { judgeFidelity } from "./fidelity.ts";
export { blockFault, blockValues, gainOf, noiseNow, noiseOf } from "./blocks.ts";
export type { Gain, Noise } from "./blocks.ts";
export { studentInterval, studentQuantile, variance } from "./student.ts";
