export { describeModel } from "./describe.ts";
export { sourceDrift } from "./drift.ts";
export { checkGgufHead } from "./gguf-head.ts";
export { readGguf } from "./gguf-file.ts";
export { writeMadeModel, type MadeModelOptions } from "./made-model.ts";
export { estimateMemory, fits } from "./memory.ts";
export { loadModelFile, modelFileSchema, type ModelFile } from "./model-file.ts";
export { bytesPerWeight, knownQuantizations } from "./quantizations.ts";
export { namedRandom, type RandomSource } from "./random.ts";
