export { DEFAULT_BOUNDS, DEFAULT_METHOD } from "./defaults.ts";
export { judge } from "./judge.ts";
