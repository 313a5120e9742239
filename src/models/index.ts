export { checkGgufHead } from "./gguf-head.ts";
export { writeMadeModel, type MadeModelOptions } from "./made-model.ts";
export { namedRandom, type RandomSource } from "./random.ts";
