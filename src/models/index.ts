export { checkGgufHead } from "./gguf-head.ts";
export { writeMadeModel, type MadeModel, type MadeModelOptions } from "./made-model.ts";
