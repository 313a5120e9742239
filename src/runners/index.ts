export type * from "./runner.ts";
