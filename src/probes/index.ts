export type * from "./sample.ts";
