export * from "./records.ts";
export * from "./judgement.ts";
