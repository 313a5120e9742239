export { inspectService } from "./inspect.ts";
export type { ManagerKind, Problem, ServiceReport } from "./types.ts";
