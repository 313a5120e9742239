export { describeModel, type DescribeOptions } from "./describe.ts";
export { sourceDrift } from "./drift.ts";
export { hashFiles } from "./file-hash.ts";
export { checkGgufHead } from "./gguf-head.ts";
export { readGguf, type GgufFacts } from "./gguf-file.ts";
export { writeMadeModel, type MadeModelOptions } from "./made-model.ts";
export {
  estimateMemory,
  fits,
  type MemoryEstimate,
  type ModelSize,
  type Served,
} from "./memory.ts";
export {
  loadModelFile,
  modelFileSchema,
  type LoadedModelFile,
  type ModelFile,
} from "./model-file.ts";
export { bytesPerWeight, knownQuantizations } from "./quantizations.ts";
export { namedRandom, type RandomSource } from "./random.ts";
