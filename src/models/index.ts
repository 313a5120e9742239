export { writeMadeModel, type MadeModel, type MadeModelOptions } from "./made-model.ts";
