export * from "./records.ts";
export * from "./judgement.ts";
export * from "./light.ts";
